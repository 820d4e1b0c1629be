/** The claims of a rule as text: `repository=acme/shop`, one per line. */

type Match = Readonly<Record<string, unknown>>

const valueTexts = (value: unknown): readonly string[] => {
  if (Array.isArray(value)) return value.flatMap(valueTexts)
  return [typeof value === 'string' ? value : JSON.stringify(value)]
}

/** Returns claims as lines; a list is several lines of its claim. */
export const matchText = (match: Match): string =>
  Object.entries(match)
    .flatMap(([name, value]) => valueTexts(value).map((text) => `${name}=${text}`))
    .join('\n')

function parseValue(text: string): unknown {
  if (!text.startsWith('{')) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Returns the claims of lines. The server rejects a line without a value. */
export function parseMatch(text: string): Match {
  const match = new Map<string, unknown[]>()
  for (const line of text.split('\n').map((each) => each.trim())) {
    if (line === '') continue
    const [name = ''] = line.split('=', 1)
    const value = parseValue(line.slice(name.length + 1).trim())
    match.set(name.trim(), [...(match.get(name.trim()) ?? []), value])
  }
  return Object.fromEntries(
    [...match].map(([name, values]) => [name, values.length === 1 ? values[0] : values]),
  )
}
