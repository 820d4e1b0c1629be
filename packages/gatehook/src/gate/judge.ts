/**
 * What is declared against what was promised: breaks and additions of each version, and the
 * `.before()` that keeps the promise. Pure; how it is told stands with the command.
 */
import { diffDocuments } from './differ.ts'
import type { Told } from './finding.ts'
import { type Lock, lockOf, type Promised } from './lock.ts'
import { type Stub, stubFor } from './stub.ts'

export interface Verdict {
  readonly version: string
  readonly breaks: readonly Told[]
  readonly additions: readonly Told[]
}

/** `declared`: by version, oldest first. A version without a promise is not judged. */
export function judge(lock: Lock, declared: ReadonlyMap<string, Promised>): Verdict[] {
  const now = lockOf(declared).versions
  return Object.entries(lock.versions).map(([version, promised]) => {
    const shown = now[version]
    const told = shown ? diffDocuments(promised.document, shown.document) : [undeclared(version)]
    return {
      version,
      breaks: told.filter(({ breaking }) => breaking),
      additions: told.filter(({ breaking }) => !breaking),
    }
  })
}

const undeclared = (version: string): Told => ({
  breaking: true,
  where: '#',
  sentence:
    `${version} is declared no more: its callers get 404. Let it stay declared with a sunset_at ` +
    'that is past, and they get 410 and where to go.',
  operations: [],
})

export interface Mend {
  /** The version the change comes with. */
  readonly version: string
  /** Whether it has to be declared first. */
  readonly fresh: boolean
  /** The newest version that was promised: the stubs give its shape back. */
  readonly base: string
  readonly stubs: readonly Stub[]
}

/** What to add to the declaration; without stubs where no `.before()` would help. */
export function mendFor(lock: Lock, declared: ReadonlyMap<string, Promised>): Mend | undefined {
  const base = Object.keys(lock.versions).findLast((version) => declared.has(version))
  const newest = [...declared.keys()].at(-1)
  if (base === undefined || newest === undefined) return undefined
  const fresh = Object.hasOwn(lock.versions, newest)
  const version = fresh ? `v${Number(newest.slice(1)) + 1}` : newest
  const shown = declared.get(base)!.fields
  const stubs = Object.entries(lock.versions[base]!.fields).flatMap(
    ([resource, fields]) => stubFor(resource, version, fields, shown[resource] ?? fields) ?? [],
  )
  return { version, fresh, base, stubs }
}
