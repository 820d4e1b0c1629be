/**
 * The words of each context of own code (§15.1). The types of the contexts require that the table
 * has all of them and no other (`packages/gatehook/test/types/context-words.ts`); a test compares
 * it with what the contexts have.
 */

const common = ['now', 'principal', 'log', 'signal'] as const
/** Of an attempt at a job that no customer has. */
const ofNone = ['now', 'log', 'signal', 'fetch', 'id', 'attempt', 'step'] as const
const attempt = [...ofNone, 'principal'] as const
const access = ['read', 'write'] as const
const request = ['version', 'params', 'query', 'input', 'accepted', 'contentType', 'show'] as const

export const contextWords = {
  '`run` of an action': [...common, 'row', 'input'],
  '`.rule()`': [...common, 'tx', 'lock', 'before', 'after'],
  '`.route()`, GET': [...common, 'fetch', ...request, ...access],
  '`.route()`, other methods': [...common, ...request, ...access],
  '`.route({ steps: true })`': [...common, ...request, ...access, 'step'],
  'the code of a step': [...common, 'fetch', 'key'],
  '`.job()`': [...attempt, ...access, 'input'],
  '`.on()`': [...attempt, ...access, 'event'],
  '`.every()`': [...ofNone, 'dueAt', 'missed', 'day', 'customers'],
  'each of its `customers()`': [...attempt, ...access],
  "`.every()`, `{ each: 'customer' }`": [...attempt, ...access, 'dueAt', 'missed', 'day'],
} as const satisfies Readonly<Record<string, readonly string[]>>

/** Returns the table of the reference. */
export function contextTable(): string {
  const words = [...common, 'fetch']
  const rows = [['`.check()`', []] as const, ...Object.entries(contextWords)].map(
    ([context, members]: readonly [string, readonly string[]]) => {
      const marks = words.map((word) => (members.includes(word) ? 'yes' : '–'))
      const others = members.filter((word) => !words.includes(word)).map((word) => `\`${word}\``)
      return `| ${[context, ...marks, others.join(', ')].join(' | ')} |`
    },
  )
  const heads = words.map((word) => `\`${word}\``)
  return [
    `| context | ${heads.join(' | ')} | further words |`,
    `| --- |${' --- |'.repeat(words.length + 1)}`,
    ...rows,
  ].join('\n')
}
