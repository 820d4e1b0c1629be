/** Writes the file of modules that `modules.ts` reads. */
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

export const INDEX = 'modules.json'
export const SOURCES = 'modules.js'

/** The place of each module in the file of sources, by its URL. */
export type ModuleIndex = readonly (readonly [url: string, { offset: number; bytes: number }])[]

const PATTERNS = ['packages/gatehook/{service,src,test}/**/*.ts', 'test/{rig,oauth}/**/*.ts']

export function writeModuleStore(root: string, folder: string): void {
  const { emitWarning } = process
  process.emitWarning = () => {} // the function is experimental
  const sources: Buffer[] = []
  const index: ModuleIndex[number][] = []
  let offset = 0
  for (const path of globSync(PATTERNS, { cwd: root })) {
    const source = Buffer.from(stripTypeScriptTypes(readFileSync(join(root, path), 'utf8')))
    sources.push(source)
    index.push([pathToFileURL(join(root, path)).href, { offset, bytes: source.length }])
    offset += source.length
  }
  process.emitWarning = emitWarning
  writeFileSync(join(folder, SOURCES), Buffer.concat(sources))
  writeFileSync(join(folder, INDEX), JSON.stringify(index))
}
