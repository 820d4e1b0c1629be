/** Renders a page as Markdown: the same content as the HTML page. Pure. */
import type { ContentBlock, Page, Section } from './content.ts'
import { inlineMarkdown, type ResolveTarget } from './inline.ts'

interface MarkdownFrame {
  readonly service: string
  readonly version: string
  /** The base of absolute links. */
  readonly base: string
  readonly notice: string | undefined
  readonly changes: readonly string[]
}

export const markdownAddress = (base: string, version: string, name: string): string =>
  name === '' ? `${base}/docs/${version}.md` : `${base}/docs/${version}/${name}.md`

const resolverOf =
  ({ base, version }: MarkdownFrame): ResolveTarget =>
  (target) => {
    if (/^https?:|^#/.test(target)) return target
    if (target.startsWith('/')) return base + target
    const [name, anchor] = target.split('#')
    const address = markdownAddress(base, version, name!)
    return anchor === undefined ? address : `${address}#${anchor}`
  }

export function renderMarkdown(page: Page, frame: MarkdownFrame): string {
  const resolve = resolverOf(frame)
  const title = page.name === '' ? frame.service : page.title
  const parts = [
    `# ${escapeWords(title)} (${frame.version})`,
    ...(frame.notice === undefined ? [] : [`> ${inlineMarkdown(frame.notice, resolve)}`]),
    ...frame.changes.map((change) => `> - ${inlineMarkdown(change, resolve)}`),
    ...[...page.blocks, ...page.aside].map((block) => blockMarkdown(block, resolve)),
    ...page.sections.map((section) => sectionMarkdown(section, resolve)),
  ]
  return `${parts.join('\n\n')}\n`
}

const escapeWords = (words: string): string => inlineMarkdown(words, (target) => target)

function sectionMarkdown(section: Section, resolve: ResolveTarget): string {
  const { id, title, call, blocks, aside } = section
  const parts = [
    `## <a id="${id}"></a>${escapeWords(title)}`,
    ...(call ? [`\`${call.method} ${call.path}\``] : []),
    ...[...blocks, ...aside].map((block) => blockMarkdown(block, resolve)),
  ]
  return parts.join('\n\n')
}

/** A fence longer than any run of backquotes inside. */
function fenceCode(text: string, language: string): string {
  const runs = text.match(/`+/g) ?? []
  const fence = '`'.repeat(Math.max(3, ...runs.map((run) => run.length + 1)))
  return `${fence}${language}\n${text}\n${fence}`
}

const LANGUAGES: Readonly<Record<string, string>> = {
  curl: 'sh',
  TypeScript: 'ts',
  Python: 'python',
}

const cell = (words: string, resolve: ResolveTarget): string =>
  inlineMarkdown(words, resolve).replaceAll('|', '\\|')

function blockMarkdown(block: ContentBlock, resolve: ResolveTarget): string {
  const inline = (words: string) => inlineMarkdown(words, resolve)
  switch (block.kind) {
    case 'text':
      return inline(block.text)
    case 'heading':
      return `### ${inline(block.text)}`
    case 'list':
      return block.items.map((item) => `- ${inline(item)}`).join('\n')
    case 'terms':
      return block.items
        .map(({ name, note, text }) => `- \`${name}\` (${inline(note)}): ${inline(text)}`)
        .join('\n')
    case 'table': {
      const head = `| ${block.head.join(' | ')} |\n|${block.head.map(() => ' --- |').join('')}`
      const rows = block.rows.map(({ id, cells }) => {
        const anchor = id === undefined ? '' : `<a id="${id}"></a>`
        return `| ${anchor}${cells.map((words) => cell(words, resolve)).join(' | ')} |`
      })
      return [head, ...rows].join('\n')
    }
    case 'code': {
      const isJson = /^[[{]/.test(block.text)
      const title = block.title === undefined ? '' : `${escapeWords(block.title)}:\n\n`
      return title + fenceCode(block.text, isJson ? 'json' : 'sh')
    }
    case 'examples':
      return block.variants
        .map(({ label, text }) => `${label}:\n\n${fenceCode(text, LANGUAGES[label] ?? '')}`)
        .join('\n\n')
    case 'states':
      return [block.start, ...block.steps.map(({ action, to }) => `(${action}) ${to}`)].join(' → ')
    case 'notice':
      return `> ${inline(block.text)}`
  }
}
