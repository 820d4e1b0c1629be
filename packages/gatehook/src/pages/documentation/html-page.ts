/** Renders a page as HTML: complete without a script, all words escaped. Pure. */
import { type Html, html } from '../../protocol/http/html.ts'
import type { CodeVariant, ContentBlock, Page, Section, TableRow, TrialForm } from './content.ts'
import { inlineHtml, plainText, type ResolveTarget } from './inline.ts'

/** The values of the frame around a page. */
export interface Frame {
  readonly service: string
  readonly version: string
  /** Every version, newest first, with its state in words; '' for a supported one. */
  readonly versions: readonly { readonly name: string; readonly state: string }[]
  readonly pages: readonly Page[]
  /** The announcement of an ending version, with the changes that concern the page. */
  readonly notice: string | undefined
  readonly changes: readonly string[]
  /** Undefined if the pages were not built. */
  readonly style: string | undefined
  readonly script: string
}

/** A bundler rewrites a template that contains the end tag. */
const SCRIPT = 'script'

const pathOf = (version: string, name: string): string =>
  name === '' ? `/docs/${version}` : `/docs/${version}/${name}`

/** Resolves the name of a page; anchors, paths and URLs stay as they are. */
const targetResolver =
  (version: string): ResolveTarget =>
  (target) =>
    /^[a-z]/.test(target) && !target.includes(':') ? pathOf(version, target) : target

export function renderPage(page: Page, frame: Frame): string {
  const { service, version } = frame
  const resolve = targetResolver(version)
  const title =
    page.name === '' ? `${service}, ${version}` : `${page.title}, ${version} · ${service}`
  const address = pathOf(version, page.name)
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="${page.summary}">
<link rel="icon" href="data:,">
${
  frame.pages.includes(page) &&
  html`<link rel="alternate" type="text/markdown" href="${address}.md">`
}
${frame.style !== undefined && html`<link rel="stylesheet" href="${frame.style}">`}
<script src="${frame.script}"></${SCRIPT}>
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<div class="docs">
${contents(page, frame)}
<main id="main" tabindex="-1">
${notice(page, frame)}
<div class="op"><div class="say">
<h1>${page.name === '' ? service : page.title}</h1>
${blocksHtml(page.blocks, resolve)}
</div>${aside(page.aside, resolve)}</div>
${page.sections.map((section) => sectionHtml(section, resolve))}
</main>
</div>
</body>
</html>
`.html
}

function notice(page: Page, { notice: words, changes, version }: Frame): Html | false {
  if (words === undefined) return false
  const resolve = targetResolver(version)
  const items = changes.map((change) => html`<li>${inlineHtml(change, resolve)}</li>`)
  return html`<div class="notice" role="note" aria-label="${`About ${version}`}">
<p>${inlineHtml(words, resolve)}</p>
${items.length > 0 && html`<p>Changes that concern ${page.title}:</p><ul>${items}</ul>`}
</div>`
}

/** The table of contents: every page, and the sections of the current one. */
function contents(page: Page, frame: Frame): Html {
  const { service, version, versions, pages } = frame
  const groups = Map.groupBy(pages, ({ group }) => group)
  const versionLinks = versions.map(({ name, state }) => {
    const current = name === version ? html` aria-current="true"` : undefined
    const words = state === '' ? name : `${name}, ${state}`
    const target = pages.some((other) => other.name === page.name) ? page.name : ''
    return html`<a href="${pathOf(name, target)}"${current}>${words}</a>`
  })
  const lists = [...groups].map(([group, items], n) => {
    const [first] = items
    const isSingle = items.length === 1 && first!.title === group
    const links = items.map((item) => contentsEntry(item, page, version))
    return isSingle
      ? html`<ul>${links}</ul>`
      : html`<div><p class="up" id="${`group-${n}`}">${group}</p>
<ul aria-labelledby="${`group-${n}`}">${links}</ul></div>`
  })
  return html`<nav class="toc" aria-label="Reference">
<a class="brand" href="${pathOf(version, '')}">${service}<small>API reference</small></a>
<div class="bar"><div class="seg" role="group" aria-label="Version">${versionLinks}</div>
<button class="btn quiet" type="button" data-do="theme" hidden>Theme</button>
<a class="btn menu-button" href="#contents" data-do="menu">Contents</a></div>
<div class="find" hidden><label class="vh" for="find">Search the reference</label>
<input id="find" type="search" placeholder="Search  /" autocomplete="off"
  data-index="${pathOf(version, 'search.json')}"><ul id="results" hidden></ul></div>
<div class="fold" id="contents">${lists}</div>
</nav>`
}

function contentsEntry(item: Page, page: Page, version: string): Html {
  const isCurrent = item.name === page.name
  const current = isCurrent ? html` aria-current="page"` : undefined
  const calls = item.sections.filter(({ call }) => call !== undefined)
  const sections = isCurrent ? item.sections : calls
  const address = pathOf(version, item.name)
  const links = sections.map(({ id, title, call }) => {
    const method = call && verb(call.method)
    return html`<li><a href="${address}#${id}">${method}${title}</a></li>`
  })
  const isListed = isCurrent || item.collection !== undefined
  return html`<li><a href="${address}"${current}>${item.title}</a>
${isListed && links.length > 0 && html`<ul>${links}</ul>`}</li>`
}

const verb = (method: string): Html =>
  html`<span class="verb ${method.toLowerCase()}">${method}</span> `

function sectionHtml(section: Section, resolve: ResolveTarget): Html {
  const { id, title, call, trial } = section
  const heading = `h-${id}`
  return html`<section class="op" id="${id}" aria-labelledby="${heading}"><div class="say">
<h2 id="${heading}"><a class="anchor" href="#${id}">${title}</a></h2>
${call && html`<p class="path">${verb(call.method)}${call.path}</p>`}
${blocksHtml(section.blocks, resolve)}
</div>${aside(section.aside, resolve, trial && trialHtml(id, title, trial))}</section>
`
}

const aside = (
  blocks: readonly ContentBlock[],
  resolve: ResolveTarget,
  more?: Html,
): Html | false =>
  (blocks.length > 0 || more !== undefined) &&
  html`<div class="show">${blocksHtml(blocks, resolve)}${more}</div>`

const blocksHtml = (blocks: readonly ContentBlock[], resolve: ResolveTarget): Html[] =>
  blocks.map((block) => blockHtml(block, resolve))

function blockHtml(block: ContentBlock, resolve: ResolveTarget): Html {
  switch (block.kind) {
    case 'text':
      return block.isSoft
        ? html`<p class="small soft">${inlineHtml(block.text, resolve)}</p>`
        : html`<p>${inlineHtml(block.text, resolve)}</p>`
    case 'heading':
      return html`<h3 id="${block.id}">${inlineHtml(block.text, resolve)}</h3>`
    case 'list': {
      const items = block.items.map((item) => html`<li>${inlineHtml(item, resolve)}</li>`)
      return html`<ul class="plain">${items}</ul>`
    }
    case 'terms': {
      const items = block.items.map(
        ({ name, note, text }) =>
          html`<dt>${name}<span>${inlineHtml(note, resolve)}</span></dt>
<dd>${inlineHtml(text, resolve)}</dd>`,
      )
      return html`<dl class="params" aria-label="${block.label}">${items}</dl>`
    }
    case 'table':
      return tableHtml(block.label, block.head, block.rows, resolve)
    case 'code':
      return html`<div class="sample">
${block.title !== undefined && html`<p class="up">${block.title}</p>`}
${pre(block.text, block.title ?? 'Example')}</div>`
    case 'examples':
      return examplesHtml(block.title, block.variants)
    case 'states':
      return statesHtml(block)
    case 'notice':
      return html`<p class="notice">${inlineHtml(block.text, resolve)}</p>`
  }
}

function pre(text: string, label: string): Html {
  const content = /^[[{]/.test(text) ? jsonHtml(text) : text
  return html`<pre tabindex="0" role="group" aria-label="${label}">${content}</pre>`
}

/** A member name, a text, or another scalar of JSON. */
const JSON_TOKEN = /("(?:[^"\\\n]|\\.)*")(\s*:)?|-?\d[\d.eE+-]*|true|false|null/g

/** Marks the names, texts and scalars of JSON. */
function jsonHtml(text: string): Html[] {
  const parts: Html[] = []
  let at = 0
  for (const match of text.matchAll(JSON_TOKEN)) {
    const [all, quoted, colon = ''] = match
    const kind = quoted === undefined ? 'd' : colon === '' ? 's' : 'p'
    parts.push(html`${text.slice(at, match.index)}`)
    parts.push(html`<span class="${kind}">${quoted ?? all}</span>${colon}`)
    at = match.index + all.length
  }
  return [...parts, html`${text.slice(at)}`]
}

function tableHtml(
  label: string,
  head: readonly string[],
  rows: readonly TableRow[],
  resolve: ResolveTarget,
): Html {
  const names = head.map((name) => html`<th scope="col">${name}</th>`)
  const body = rows.map(({ id, cells }) => {
    const columns = cells.map((cell) => html`<td>${inlineHtml(cell, resolve)}</td>`)
    return html`<tr${id !== undefined && html` id="${id}"`}>${columns}</tr>`
  })
  const kind = head.length > 3 && html` class="wide"`
  return html`<div class="scroll" tabindex="0" role="group" aria-label="${label}">
<table${kind}><thead><tr>${names}</tr></thead><tbody>${body}</tbody></table></div>`
}

/** Without a script each variant is a fold; the script turns them into tabs. */
function examplesHtml(title: string, variants: readonly CodeVariant[]): Html {
  const folds = variants.map(
    ({ label, text }, n) => html`<details${n === 0 && html` open`} data-variant="${label}">
<summary>${label}</summary>${pre(text, `${title}: ${label}`)}</details>`,
  )
  return html`<div class="examples" data-label="${title}">${folds}</div>`
}

function statesHtml({ label, start, steps }: Extract<ContentBlock, { kind: 'states' }>): Html {
  const items = steps.map(({ action, to }) => html`<li><span>${action}</span></li><li>${to}</li>`)
  return html`<ol class="states" aria-label="${label}"><li>${start}</li>${items}</ol>`
}

/** The form is hidden until the script enables it. */
function trialHtml(
  id: string,
  title: string,
  { method, path, fields, body, scope, example }: TrialForm,
): Html {
  const inputs = fields.map(({ name, place, value }) => {
    const field = `try-${id}-${name.replace(/\W+/g, '-')}`
    return html`<div class="field"><label for="${field}">${name} <span>${place}</span></label>
<input id="${field}" type="text" name="${name}" data-place="${place}" value="${value}"
  autocomplete="off" spellcheck="false"></div>`
  })
  const bodyField =
    body !== undefined &&
    html`<div class="field"><label for="${`try-${id}-body`}">Body <span>JSON</span></label>
<textarea id="${`try-${id}-body`}" data-body rows="6" spellcheck="false">${body}</textarea></div>`
  return html`<form class="trial" hidden aria-label="${`Try it: ${title}`}" data-method="${method}"
  data-path="${path}" data-scope="${scope ?? ''}" data-example="${example}">
<div class="field"><label for="${`try-${id}-key`}">Test key</label>
<input id="${`try-${id}-key`}" type="password" data-key autocomplete="off"
  placeholder="gk_test_&hellip;" aria-describedby="${`try-${id}-hint`}">
<p class="hint" id="${`try-${id}-hint`}">This page does not store it. Live keys are rejected.</p>
</div>
${inputs}${bodyField}
<button class="btn first" type="submit">Send</button>
<div role="status" class="result"></div>
</form>`
}

/** Returns the words of a section for the search index. */
export const sectionWords = ({ title, call, blocks }: Section): string =>
  [title, call && `${call.method} ${call.path}`, ...blocks.map(blockWords)]
    .filter((words) => words !== undefined && words !== '')
    .join(' ')

function blockWords(block: ContentBlock): string {
  switch (block.kind) {
    case 'terms':
      return block.items.map(({ name }) => name).join(' ')
    case 'text':
      return plainText(block.text)
    default:
      return ''
  }
}
