/** Validates the rows of `.sample()` as bodies of clients are, when a service is declared. Pure. */
import { toJson } from '../../protocol/fields/forms.ts'
import type { AnyRow, ResourceDefinition } from './resource.ts'
import { createValidators } from './validate.ts'

/** The rows that a seed creates at most. */
const SAMPLES = 120
const SENTENCES_MAX = 5

/** Returns a sentence for the developer per mistake. */
export function findSampleMistakes({ fields, sample }: ResourceDefinition): string[] {
  if (!sample) return []
  const { converted } = createValidators(fields)
  const mistakes = new Map<string, string>()
  for (let n = 0; n < SAMPLES && mistakes.size < SENTENCES_MAX; n++) {
    const add = (name: string, message: string) => {
      if (!mistakes.has(name)) mistakes.set(name, `.sample(${n}): ${name} ${message}`.trim())
    }
    const valid: AnyRow = {}
    try {
      for (const [name, value] of Object.entries(sample(n))) {
        if (value === undefined) continue
        if (isOfKind(fields[name], value)) valid[name] = value
        else add(name, 'is no value of its field, as rows have it')
      }
    } catch (error) {
      add('', `throws: ${(error as Error).message}`)
    }
    for (const { pointer, message } of converted(valid).errors) add(pointer!.slice(1), message)
  }
  return [...mistakes.values()]
}

/** Whether a value has a JSON form: a time is in epoch milliseconds, a decimal is a text. */
function isOfKind(spec: ResourceDefinition['fields'][string] | undefined, value: unknown) {
  try {
    if (spec) toJson(spec, value)
    return true
  } catch {
    return false
  }
}
