/**
 * The built pages in memory: the shells `console.html` and `portal.html`, and the files of
 * `assets/`, which include the stylesheet of the docs. `build/pages.ts` writes them.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { entityTag } from '../../protocol/http/conditional.ts'

/** Content codings of a file, in the order of preference. */
export const CODINGS = ['br', 'gzip'] as const
type Coding = (typeof CODINGS)[number]
const EXTENSIONS: Readonly<Record<Coding, string>> = { br: '.br', gzip: '.gz' }

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

export interface Asset {
  readonly type: string
  readonly etag: string
  readonly plain: Uint8Array
  /** The compressed forms. */
  readonly encoded: Readonly<Partial<Record<Coding, Uint8Array>>>
}

export interface BuiltPages {
  /** The HTML of a shell by its name: `console`. */
  readonly shells: ReadonlyMap<string, string>
  /** Files of `assets/` by name, without compressed forms. */
  readonly assets: ReadonlyMap<string, Asset>
}

function readAsset(path: string): Asset {
  const plain = readFileSync(path)
  const encoded: Partial<Record<Coding, Uint8Array>> = {}
  for (const coding of CODINGS) {
    const file = path + EXTENSIONS[coding]
    if (existsSync(file)) encoded[coding] = readFileSync(file)
  }
  const etag = entityTag(plain.toString('latin1'))
  return { type: TYPES[extname(path)]!, etag, plain, encoded }
}

/** The output of `build/pages.ts`, beside `src/` in the checkout and `dist/` in the package. */
const FOLDER = join(import.meta.dirname, '..', '..', '..', 'pages')

let ownPages: BuiltPages | undefined

/** Returns the pages of this package, read once per process; undefined if they were not built. */
export function ownBuiltPages(): BuiltPages | undefined {
  ownPages ??= readBuiltPages(FOLDER)
  return ownPages
}

/** Returns the built pages of a folder; undefined if they were not built. */
export function readBuiltPages(folder: string): BuiltPages | undefined {
  if (!existsSync(join(folder, 'console.html'))) return undefined
  const shells = new Map<string, string>()
  for (const name of readdirSync(folder).filter((name) => name.endsWith('.html'))) {
    shells.set(name.slice(0, -'.html'.length), readFileSync(join(folder, name), 'utf8'))
  }
  const assets = new Map<string, Asset>()
  for (const name of readdirSync(join(folder, 'assets'))) {
    if (extname(name) in TYPES) assets.set(name, readAsset(join(folder, 'assets', name)))
  }
  return { shells, assets }
}
