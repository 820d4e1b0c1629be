/**
 * The files that the docs reference, whose names contain a hash: the stylesheet, of the built
 * pages, and the script. And programs, which pages contain.
 */
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Answer, Call } from '../../protocol/http/call.ts'
import { createResponder } from '../../protocol/http/text-responder.ts'
import type { BuiltPages } from '../assets/assets.ts'
import { sendAsset } from '../assets/routes.ts'
import { exampleScript } from './code-examples.ts'

interface DocsFile {
  /** `docs-1a2b3c4d.css`. */
  readonly name: string
  readonly respond: (call: Call) => Promise<Answer> | Answer
}

const SCRIPT_HEADERS = {
  'content-type': 'text/javascript; charset=utf-8',
  'cache-control': 'public, max-age=31536000, immutable',
} as const

const HASH_LENGTH = 10

/** Returns a file of `assets/`: the script, or a program that a page contains. */
const readText = (name: string): string =>
  readFileSync(new URL(`./assets/${name}`, import.meta.url), 'utf8')

export const readExample = (name: string): string => readText(name).trimEnd()

export interface DocsFiles {
  /** Undefined if the pages were not built. */
  readonly style: DocsFile | undefined
  readonly script: DocsFile
}

export function readDocsFiles(pages: BuiltPages | undefined): DocsFiles {
  const [style] = [...(pages?.assets ?? [])].filter(([name]) => /^docs-.*\.css$/.test(name))
  const text = `${exampleScript()}${readText('docs.js')}`
  const digest = hash('sha256', text, 'hex').slice(0, HASH_LENGTH)
  return {
    style: style && { name: style[0], respond: (call) => sendAsset(call, style[1]) },
    script: { name: `docs-${digest}.js`, respond: createResponder(text, SCRIPT_HEADERS) },
  }
}
