/**
 * The marks inside a text: `code`, **strong** words and [links](target). All other characters have
 * no meaning, so that the words of a declaration are never HTML. Pure.
 */
import { type Html, html } from '../../protocol/http/html.ts'

type Mark =
  | { readonly kind: 'words' | 'code' | 'strong'; readonly text: string }
  | { readonly kind: 'link'; readonly text: string; readonly target: string }

const MARKS = /`([^`\n]+)`|\*\*([^*\n]+)\*\*|\[([^[\]\n]+)\]\(([^()\s]+)\)/g
/** A page name, an anchor, a path of this service, or a URL. Never a script. */
const TARGET = /^(?:[a-z][\w-]*(?:#[\w-]+)?|#[\w-]+|\/[\w./{}-]*|https?:\/\/[^\s"'<>]+)$/

function marksOf(text: string): Mark[] {
  const marks: Mark[] = []
  let at = 0
  for (const match of text.matchAll(MARKS)) {
    const [all, code, strong, label, target] = match
    if (target !== undefined && !TARGET.test(target)) continue
    if (match.index > at) marks.push({ kind: 'words', text: text.slice(at, match.index) })
    if (code !== undefined) marks.push({ kind: 'code', text: code })
    else if (strong !== undefined) marks.push({ kind: 'strong', text: strong })
    else marks.push({ kind: 'link', text: label!, target: target! })
    at = match.index + all.length
  }
  if (at < text.length) marks.push({ kind: 'words', text: text.slice(at) })
  return marks
}

/** Returns the address of a link's target. */
export type ResolveTarget = (target: string) => string

/** @param resolve maps a page name to a path; other targets are passed through it unchanged */
export const inlineHtml = (text: string, resolve: ResolveTarget): Html[] =>
  marksOf(text).map((mark) => {
    switch (mark.kind) {
      case 'code':
        return html`<code>${mark.text}</code>`
      case 'strong':
        return html`<strong>${mark.text}</strong>`
      case 'link':
        return html`<a href="${resolve(mark.target)}">${inlineHtml(mark.text, resolve)}</a>`
      default:
        return html`${mark.text}`
    }
  })

/** Returns Markdown in which no word of a declaration is HTML. */
export const inlineMarkdown = (text: string, resolve: ResolveTarget): string =>
  marksOf(text)
    .map((mark) => {
      switch (mark.kind) {
        case 'code':
          return `\`${mark.text}\``
        case 'strong':
          return `**${mark.text}**`
        case 'link':
          return `[${inlineMarkdown(mark.text, resolve)}](${resolve(mark.target)})`
        default:
          return mark.text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
      }
    })
    .join('')
    .replace(/\s*\n\s*/g, ' ')

/** Returns the words without marks. */
export const plainText = (text: string): string =>
  marksOf(text)
    .map((mark) => (mark.kind === 'link' ? plainText(mark.text) : mark.text))
    .join('')
