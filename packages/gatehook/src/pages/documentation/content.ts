/**
 * The content of a page, without a format: `html-page.ts` and `markdown-page.ts` render it. Texts
 * may contain `code`, **strong** words and [links](errors#rate_limited); a link without a slash is
 * the name of a page of the same version. Types only.
 */
import type { Method } from '../../protocol/http/call.ts'

export interface Term {
  readonly name: string
  /** Where it is sent, and its type: `query, integer`. */
  readonly note: string
  readonly text: string
}

export interface CodeVariant {
  /** `curl`. */
  readonly label: string
  readonly text: string
}

export type ContentBlock =
  | { readonly kind: 'text'; readonly text: string; readonly isSoft?: boolean }
  | { readonly kind: 'heading'; readonly id: string; readonly text: string }
  | { readonly kind: 'list'; readonly items: readonly string[] }
  | { readonly kind: 'terms'; readonly label: string; readonly items: readonly Term[] }
  | {
      readonly kind: 'table'
      readonly label: string
      readonly head: readonly string[]
      readonly rows: readonly TableRow[]
    }
  | { readonly kind: 'code'; readonly title?: string; readonly text: string }
  | { readonly kind: 'examples'; readonly title: string; readonly variants: readonly CodeVariant[] }
  /** States in order, each with the action that leads to the next. */
  | {
      readonly kind: 'states'
      readonly label: string
      readonly start: string
      readonly steps: readonly { readonly action: string; readonly to: string }[]
    }
  | { readonly kind: 'notice'; readonly text: string }

export interface TableRow {
  /** An anchor on the row. */
  readonly id?: string
  readonly cells: readonly string[]
}

/** A form that sends a request from the page. */
export interface TrialForm {
  readonly method: string
  readonly path: string
  readonly fields: readonly {
    readonly name: string
    readonly place: 'path' | 'query' | 'header'
    readonly value: string
  }[]
  /** JSON; undefined without a body. */
  readonly body: string | undefined
  readonly scope: string | undefined
  /** JSON: the base of the examples, and their request. */
  readonly example: string
}

export interface Section {
  readonly id: string
  readonly title: string
  readonly call?: { readonly method: Exclude<Method, 'HEAD' | 'OPTIONS'>; readonly path: string }
  readonly blocks: readonly ContentBlock[]
  /** Beside the text where the window is wide: examples. */
  readonly aside: readonly ContentBlock[]
  readonly trial?: TrialForm
}

export interface Page {
  /** Its name under `/docs/{version}/`; '' for the first page. */
  readonly name: string
  readonly title: string
  /** The group in the table of contents. */
  readonly group: string
  /** One sentence for lists of pages. */
  readonly summary: string
  readonly blocks: readonly ContentBlock[]
  readonly aside: readonly ContentBlock[]
  readonly sections: readonly Section[]
  /** The collection whose changes the notice of an ending version lists. */
  readonly collection?: string
}

export const text = (words: string): ContentBlock => ({ kind: 'text', text: words })
export const softText = (words: string): ContentBlock => ({
  kind: 'text',
  text: words,
  isSoft: true,
})
export const list = (...items: readonly string[]): ContentBlock => ({ kind: 'list', items })
export const code = (title: string, content: string): ContentBlock => ({
  kind: 'code',
  title,
  text: content,
})
export const table = (
  label: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): ContentBlock => ({ kind: 'table', label, head, rows: rows.map((cells) => ({ cells })) })

/** Returns indented JSON, for examples. */
export const pretty = (value: unknown): string => JSON.stringify(value, null, 2)
