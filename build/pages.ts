/**
 * `npm run build:pages`: builds console, portal and the stylesheet of the docs with Vite into
 * `packages/gatehook/pages/`, and compresses each file of `assets/` with brotli and gzip.
 * `npm install` runs it (`prepare`).
 */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { root } from './packages.ts'

export const PAGES_FOLDER: string = join(root, 'packages', 'gatehook', 'pages')

const brotli = (bytes: Uint8Array) =>
  brotliCompressSync(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: 11,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  })

function compressAssets(folder: string): void {
  const assets = join(folder, 'assets')
  for (const name of readdirSync(assets)) {
    const bytes = readFileSync(join(assets, name))
    writeFileSync(join(assets, `${name}.br`), brotli(bytes))
    writeFileSync(join(assets, `${name}.gz`), gzipSync(bytes, { level: 9 }))
  }
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))

/** Moves files one by one, each at once: a service that starts meanwhile finds all of them. */
function replaceFiles(from: string, to: string): void {
  const files = new Set(filesIn(from))
  for (const file of files) {
    mkdirSync(dirname(join(to, file)), { recursive: true })
    renameSync(join(from, file), join(to, file))
  }
  for (const file of filesIn(to)) if (!files.has(file)) rmSync(join(to, file))
}

/** Replaces the built pages. */
export async function buildPages(): Promise<void> {
  const { build } = await import('vite')
  const { config, docsConfig } = await import('../packages/pages/vite.config.ts')
  const folder = mkdtempSync(`${PAGES_FOLDER}-`)
  try {
    for (const part of [config, docsConfig]) {
      const output = { ...part.build, outDir: folder }
      await build({ ...part, build: output, configFile: false, logLevel: 'warn' })
    }
    compressAssets(folder)
    replaceFiles(folder, PAGES_FOLDER)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

if (import.meta.main) await buildPages()
