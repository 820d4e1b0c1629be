/** The search index of a version: the words of each page and section. Pure. */
import type { Page } from './content.ts'
import { sectionWords } from './html-page.ts'

/** Most characters of a section's words: the index stays small. */
const WORDS_MAX = 160

/** Returns `[title, page, address, words]` per entry, as JSON. */
export function searchIndex(pages: readonly Page[], version: string, mountPath: string): string {
  const entries = pages.flatMap((page) => {
    const home = `${mountPath}/docs/${version}`
    const address = page.name === '' ? home : `${home}/${page.name}`
    const sections = page.sections.map((section) => [
      section.title,
      page.title,
      `${address}#${section.id}`,
      sectionWords(section).slice(0, WORDS_MAX).toLowerCase(),
    ])
    const rows = page.sections
      .flatMap(({ blocks }) => blocks)
      .flatMap((block) => (block.kind === 'table' ? block.rows : []))
      .flatMap(({ id, cells }) =>
        id === undefined ? [] : [[id, page.title, `${address}#${id}`, cells.at(-1)!.toLowerCase()]],
      )
    return [[page.title, '', address, page.summary.toLowerCase()], ...sections, ...rows]
  })
  return JSON.stringify(entries)
}
