/** Parses the fenced blocks of a page, and compares documented responses with actual ones. Pure. */

export interface Block {
  /** The word after the three backticks. */
  readonly language: string
  readonly text: string
}

export function blocksOf(markdown: string): Block[] {
  const blocks = markdown.matchAll(/^```([a-z]*)\n(.*?)^```$/gms)
  return [...blocks].map(([, language, text]) => ({ language: language!, text: text! }))
}

/** Commands for a shell, and the documented response to the last of them. */
export interface Step {
  readonly script: string
  readonly json: unknown
  /** Header names, lower case. */
  readonly headers: readonly string[]
}

const ADDRESS = /^(URL|KEY|HOOK|ID)=/

/** Returns the `sh` blocks with curl, each with the `json` and `http` blocks that follow it. */
export function stepsOf(markdown: string): Step[] {
  const steps: { script: string; json: unknown; headers: string[] }[] = []
  let current: (typeof steps)[number] | undefined
  for (const { language, text } of blocksOf(markdown)) {
    if (language === 'sh') {
      // The test supplies the address and the key of the reader.
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

const FILE = /^(?:\/\/|#|--) (\S+\.(?:ts|mjs|py|go|sql))\n/

/** Returns the files of a page: blocks of code that begin with a comment of their path. */
export function filesOf(markdown: string): { path: string; text: string }[] {
  return blocksOf(markdown).flatMap(({ language, text }) => {
    const path = language === 'sh' ? undefined : FILE.exec(text)?.[1]
    return path === undefined ? [] : [{ path, text }]
  })
}

/** Returns the status in a documented error; undefined for a success. */
export function documentedStatus(json: unknown): number | undefined {
  const { error, status } = (json ?? {}) as { error?: unknown; status?: unknown }
  return typeof error === 'string' && typeof status === 'number' ? status : undefined
}

const kindOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value

/**
 * Lists the differences between the shape of a documented and an actual response. Members and their
 * kinds must be equal. A documented array may have fewer elements than the actual one, but must not
 * be empty if the actual one has elements.
 */
export function differences(documented: unknown, actual: unknown, at = ''): string[] {
  const [expectedKind, actualKind] = [kindOf(documented), kindOf(actual)]
  if (expectedKind !== actualKind) {
    return [`${at || '/'} is documented as ${expectedKind} and is ${actualKind}`]
  }
  if (Array.isArray(documented) && Array.isArray(actual)) {
    if (documented.length > actual.length) {
      return [`${at} documents ${documented.length} of ${actual.length} elements`]
    }
    if (documented.length === 0 && actual.length > 0) return [`${at} is documented as empty`]
    return documented.flatMap((element, n) => differences(element, actual[n], `${at}/${n}`))
  }
  if (expectedKind !== 'object') return []
  const [left, right] = [documented as Record<string, unknown>, actual as Record<string, unknown>]
  const missing = Object.keys(right).filter((name) => !Object.hasOwn(left, name))
  return [
    ...missing.map((name) => `${at}/${name} is not documented`),
    ...Object.keys(left).flatMap((name) =>
      Object.hasOwn(right, name)
        ? differences(left[name], right[name], `${at}/${name}`)
        : [`${at}/${name} is documented but absent`],
    ),
  ]
}
