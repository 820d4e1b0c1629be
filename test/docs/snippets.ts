/** Pages of the docs as their blocks; whether a shown answer has the shape of a real one. Pure. */

export interface Block {
  /** What stands after the three backticks. */
  readonly language: string
  readonly text: string
}

function blocksOf(markdown: string): Block[] {
  const found = markdown.matchAll(/^```([a-z]*)\n(.*?)^```$/gms)
  return [...found].map(([, language, text]) => ({ language: language!, text: text! }))
}

/** Lines to run in a shell, and what the page shows of the answer to the last of them. */
export interface Step {
  readonly script: string
  readonly json: unknown
  /** Header names, lower case. */
  readonly headers: readonly string[]
}

const ADDRESS = /^(URL|KEY|HOOK|ID)=/

/** The `sh` blocks that call with curl, each with the `json` and `http` blocks right behind it. */
export function stepsOf(markdown: string): Step[] {
  const steps: { script: string; json: unknown; headers: string[] }[] = []
  let current: (typeof steps)[number] | undefined
  for (const { language, text } of blocksOf(markdown)) {
    if (language === 'sh') {
      // The reader's own address and key are the test's.
      const lines = text.split('\n').filter((line) => !ADDRESS.test(line))
      const calls = /\bcurl\b/.test(lines.join('\n'))
      current = calls ? { script: lines.join('\n'), json: undefined, headers: [] } : undefined
      if (current) steps.push(current)
    } else if (language === 'json' && current) {
      current.json = JSON.parse(text)
    } else if (language === 'http' && current) {
      const lines = text.split('\n').filter((line) => /^[\w-]+: /.test(line))
      current.headers = lines.map((line) => line.slice(0, line.indexOf(':')).toLowerCase())
    }
  }
  return steps
}

/** Files a page tells the reader to write: `ts` blocks that begin with a comment of their path. */
export function filesOf(markdown: string): { path: string; text: string }[] {
  return blocksOf(markdown).flatMap(({ language, text }) => {
    const path = language === 'ts' ? /^\/\/ (\S+\.ts)\n/.exec(text)?.[1] : undefined
    return path === undefined ? [] : [{ path, text }]
  })
}

/** The status a shown answer promises: what an error says of itself, else any success. */
export function promisedStatus(json: unknown): number | undefined {
  const status = (json as { error?: unknown; status?: unknown } | undefined)?.status
  return typeof status === 'number' && status >= 400 ? status : undefined
}

const kindOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value

/**
 * How `shown` differs from `real`; empty where it fits. Members are the same on both sides and of
 * the same kinds; of an array the page may show fewer elements, but none where there are
 * some is a lie.
 */
export function differences(shown: unknown, real: unknown, at = ''): string[] {
  const [expected, found] = [kindOf(shown), kindOf(real)]
  if (expected !== found) return [`${at || '/'} is shown as ${expected} and is ${found}`]
  if (Array.isArray(shown) && Array.isArray(real)) {
    if (shown.length > real.length) return [`${at} shows ${shown.length} of ${real.length}`]
    if (shown.length === 0 && real.length > 0) return [`${at} is shown empty`]
    return shown.flatMap((one, n) => differences(one, real[n], `${at}/${n}`))
  }
  if (expected !== 'object') return []
  const [left, right] = [shown as Record<string, unknown>, real as Record<string, unknown>]
  const missing = Object.keys(right).filter((name) => !Object.hasOwn(left, name))
  return [
    ...missing.map((name) => `${at}/${name} is not shown`),
    ...Object.keys(left).flatMap((name) =>
      Object.hasOwn(right, name)
        ? differences(left[name], right[name], `${at}/${name}`)
        : [`${at}/${name} is shown and is not there`],
    ),
  ]
}
