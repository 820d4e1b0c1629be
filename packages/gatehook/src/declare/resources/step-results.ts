/**
 * The result of a step as text (§15.6): JSON, in which rows stay rows of their resource, or a
 * `Failure` below 500, which is thrown again.
 */
import { type AnyCode, Failure, type FailureOptions } from '../../kernel/failure.ts'
import type { Catalog } from './catalog-entry.ts'
import { OwnFailure } from './failure.ts'
import type { AnyRow } from './resource.ts'
import type { RowViews } from './row-views.ts'

type Path = readonly (string | number)[]

interface StoredResult {
  /** Absent: undefined. */
  readonly value?: unknown
  /** Where the value has rows, and of which resource. */
  readonly rows?: readonly (readonly [resource: string, path: Path])[]
  readonly failure?: { code: AnyCode; message: string; options: FailureOptions }
}

/** `version`: of the caller; undefined: own code is the caller. */
export type StepViews = Pick<RowViews, 'register' | 'resourceOf'> & { readonly version?: string }

/** Returns the text of a result. Throws for a value that JSON does not have. */
function encodeResult(step: string, value: unknown, { resourceOf }: StepViews): string {
  const rows: [string, Path][] = []
  const inspect = (part: unknown, path: Path): void => {
    if (typeof part === 'object' && part !== null) {
      const resource = resourceOf(part)
      if (resource !== undefined) rows.push([resource, path])
      if (!Array.isArray(part) && !isPlain(part)) throw notJson(step, path)
      for (const [name, member] of Object.entries(part)) {
        if (member !== undefined || Array.isArray(part)) inspect(member, [...path, name])
      }
    } else if (!isJsonValue(part)) throw notJson(step, path)
  }
  const text = JSON.stringify(value)
  if (value !== undefined) inspect(value, [])
  if (text === undefined) return '{}'
  return `{"value":${text}${rows.length > 0 ? `,"rows":${JSON.stringify(rows)}` : ''}}`
}

const isPlain = (value: object): boolean => {
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

const isJsonValue = (value: unknown): boolean =>
  value === null || ['string', 'boolean'].includes(typeof value) || Number.isFinite(value)

const notJson = (step: string, path: Path) =>
  new Error(`step ${step}: its result is no JSON at /${path.join('/')}`)

/** Returns the text of the result of a step’s code. A `Failure` below 500 is a result. */
export async function textOfResult(
  step: string,
  views: StepViews,
  code: () => unknown,
): Promise<string> {
  try {
    return encodeResult(step, await code(), views)
  } catch (error) {
    if (!(error instanceof Failure) || error.status >= 500) throw error
    const failure = error instanceof OwnFailure && views.version ? error.in(views.version) : error
    const { code, message, options } = failure
    return JSON.stringify({ failure: { code, message, options } } satisfies StoredResult)
  }
}

/** Returns a stored result, or throws the failure that it is. */
export function decodeResult(text: string, catalog: Catalog, { register }: StepViews): unknown {
  const { value, rows = [], failure } = JSON.parse(text) as StoredResult
  if (failure) throw new Failure(failure.code, failure.message, failure.options)
  for (const [resource, path] of rows) {
    const row = path.reduce<unknown>((part, name) => (part as AnyRow)[name], value)
    const entry = catalog.entries.get(resource)
    if (entry) register(entry, row as AnyRow)
  }
  return value
}
