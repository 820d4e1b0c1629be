/** `f.pattern(/…/)`: text that matches a regular expression of linear time (`../pattern.ts`). */
import { reportMistakes } from '../declaration-mistakes.ts'
import { declareField, type Field } from '../fields.ts'
import { textSchema } from '../json-schema.ts'
import type { FieldKind } from '../kind.ts'
import { judgePattern, PatternError, shortestMatch } from '../pattern.ts'
import { createReader, textFinder } from '../reading.ts'
import type { MemberSpec } from '../spec.ts'
import { textKind } from './text-kind.ts'

const initial = { max: 255 }

/** Returns the text of an expression. Flags have no equivalent in JSON Schema. */
function sourceOf(pattern: RegExp): string {
  if (!(pattern instanceof RegExp)) {
    reportMistakes(['f.pattern() requires a regular expression: f.pattern(/^[a-z]+$/)'])
    return '^[a-z]+$'
  }
  const { source, flags } = pattern
  if (flags.replace('u', '') !== '') {
    reportMistakes([`f.pattern(/${source}/${flags}): write the pattern without flags`])
  }
  return source
}

export const patternCall = {
  /**
   * Text that matches a regular expression from `^` to `$`. The next character decides how the
   * match continues, so that no text takes long: `f.pattern(/^[a-z]+(-[a-z]+)*$/)`.
   */
  pattern: (pattern: RegExp): Field<string, 'required'> =>
    declareField('pattern', { pattern: sourceOf(pattern), ...initial }),
}

function findMistake({ pattern, min, max = Infinity }: MemberSpec): string | undefined {
  if (min !== undefined) return 'f.pattern() takes no min; the pattern has the least length'
  try {
    judgePattern(pattern!)
  } catch (error) {
    if (error instanceof PatternError) return error.message
    throw error
  }
  return shortestMatch(pattern!).length > max ? `no match has ${max} characters` : undefined
}

export const pattern: FieldKind = {
  ...textKind,
  /** The pattern takes linear time: a declaration has verified its own. */
  reader(spec) {
    const expression = new RegExp(spec.pattern!, 'u')
    const words = spec.words ?? `a match of ${spec.pattern}`
    return createReader(textFinder(spec, words, (text) => expression.test(text)))
  },
  schema: (spec) => ({ ...textSchema(spec), pattern: spec.pattern }),
  isText: true,
  hasBounds: true,
  initial,
  callCode: (spec) => `/${spec.pattern}/`,
  findMistake,
  sample: ({ spec }) => shortestMatch(spec.pattern!),
  bounds: (spec) => [shortestMatch(spec.pattern!)],
}
