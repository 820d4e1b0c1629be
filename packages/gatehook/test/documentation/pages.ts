/** Reads the pages of a running service as Markdown: sections, calls and programs. */

export interface MarkdownSection {
  readonly id: string
  readonly title: string
  /** `POST /api/v2/orders`; '' for a section without a call. */
  readonly call: string
  /** Programs by language: curl, TypeScript, Python. */
  readonly programs: ReadonlyMap<string, string>
  /** The JSON of the response; undefined if the page has none. */
  readonly answer: unknown
}

const PROGRAM = /^(curl|TypeScript|Python):\n\n```\w*\n([\s\S]*?)\n```$/gm

/** Splits a page at its headings. The first section is the text before them. */
export function sectionsOf(markdown: string): MarkdownSection[] {
  return markdown.split(/^## /m).map((text) => {
    const [, id = '', title = ''] = /^<a id="([^"]+)"><\/a>(.*)$/m.exec(text) ?? []
    const answer = /^\d{3} Response:\n\n```json\n([\s\S]*?)\n```/m.exec(text)?.[1]
    return {
      id,
      title,
      call: /^`((?:GET|POST|PUT|PATCH|DELETE) [^`]+)`$/m.exec(text)?.[1] ?? '',
      programs: new Map([...text.matchAll(PROGRAM)].map(([, name, code]) => [name!, code!])),
      answer: answer && JSON.parse(answer),
    }
  })
}
