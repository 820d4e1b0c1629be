/** JSON text with colours, and lines of headers. */
import type { ComponentChildren } from 'preact'

const TOKEN = /("(?:\\.|[^"\\])*")(\s*:)?|\b(true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/** Returns the text as spans: names, strings, numbers and words. */
export function colour(text: string, marked?: ReadonlySet<string>): ComponentChildren[] {
  const parts: ComponentChildren[] = []
  let end = 0
  for (const match of text.matchAll(TOKEN)) {
    parts.push(text.slice(end, match.index))
    const [whole, string, colon] = match
    end = match.index + whole.length
    if (string && colon) {
      const isMarked = marked?.has(string.slice(1, -1))
      parts.push(<span class="p">{isMarked ? <mark>{string}</mark> : string}</span>, colon)
    } else parts.push(<span class={string ? 's' : 'd'}>{whole}</span>)
  }
  parts.push(text.slice(end))
  return parts
}

interface JsonProps {
  /** A value, or text that may be JSON. */
  readonly value: unknown
  /** Names of members to mark. */
  readonly marked?: ReadonlySet<string>
}

export function Json({ value, marked }: JsonProps) {
  const text = typeof value === 'string' ? pretty(value) : JSON.stringify(value, null, 2)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a block that scrolls is reached by keyboard
    <pre class="wrap" tabIndex={0}>
      {colour(text, marked)}
    </pre>
  )
}

/** Indents JSON text; other text stays as it is. */
export function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

interface ExchangeTextProps {
  /** `HTTP/1.1 403 Forbidden`, `POST /api/v2/orders`. */
  readonly start: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  readonly marked?: ReadonlySet<string>
}

/** One side of an exchange: start line, headers, body. */
export function ExchangeText({ start, headers, body, marked }: ExchangeTextProps) {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a block that scrolls is reached by keyboard
    <pre class="wrap" tabIndex={0}>
      {[start, ...lines].join('\n')}
      {body !== undefined && body !== '' && ['\n\n', ...colour(pretty(body), marked)]}
    </pre>
  )
}
