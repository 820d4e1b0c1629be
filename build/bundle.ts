/**
 * `node build/bundle.ts SOURCE OUT NAME…`: joins the modules of a package into few files, one for
 * each program, thread and named module, and the parts that they share. Node takes about a
 * millisecond to find, read and link a module, and the engine has more than 600. Dependencies stay
 * packages of their own.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix, relative } from 'node:path'
import { type Plugin, rolldown } from 'rolldown'

/** Modules that run as the start of a thread. */
const THREAD = /\bparentPort\b/

/** Returns the modules that start a program or a thread, or that `names` lists, without `.ts`. */
function listEntries(source: string, names: readonly string[]): string[] {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .map((file) => file.replaceAll('\\', '/').replace(/\.ts$/, ''))
  const isThread = (file: string) => THREAD.test(readFileSync(join(source, `${file}.ts`), 'utf8'))
  return files.filter((file) => names.includes(file) || file.endsWith('/main') || isThread(file))
}

/** A bare name is a dependency; a file of CommonJS stays beside the bundle. */
const isExternal = (id: string): boolean => !/^[./]/.test(id) || id.endsWith('.cjs')

/**
 * Modules find other files by their own place (`import.meta`), which the bundle replaces by the
 * place that they would have as files of their own.
 */
function keepPlaces(source: string): Plugin {
  const placeOf = (id: string) => relative(source, id).replaceAll('\\', '/').replace(/\.ts$/, '.js')
  return {
    name: 'keep-places',
    transform(code, id) {
      if (!code.includes('import.meta.')) return null
      const text = code
        .replaceAll('import.meta.url', `__place_url__("${placeOf(id)}")`)
        .replaceAll('import.meta.dirname', `__place_folder__("${posix.dirname(placeOf(id))}")`)
      return { code: text, map: null } // no line moves
    },
    renderChunk(code, { fileName }) {
      if (!code.includes('__place_')) return null
      const fromChunk = (place: string) => {
        const path = posix.relative(posix.dirname(fileName), place)
        return path.startsWith('.') ? path : `./${path}`
      }
      const text = code
        .replaceAll(
          /__place_url__\("([^"]*)"\)/g,
          (_, place) => `new URL("${fromChunk(place)}", import.meta.url).href`,
        )
        .replaceAll(
          /__place_folder__\("([^"]*)"\)/g,
          (_, place) => `(import.meta.dirname + "/${fromChunk(place)}")`,
        )
      return { code: text, map: null }
    },
  }
}

/** Writes the bundle of the modules in `source` to `out`, one file for each entry. */
async function bundle(source: string, out: string, entries: readonly string[]): Promise<void> {
  const build = await rolldown({
    input: Object.fromEntries(entries.map((name) => [name, join(source, `${name}.ts`)])),
    external: isExternal,
    platform: 'node',
    transform: { target: 'esnext' },
    plugins: [keepPlaces(source)],
    cwd: dirname(source),
  })
  await build.write({
    dir: out,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'parts/[name]-[hash].js',
    sourcemap: true,
    // V8 keeps the text: without these, one character beyond Latin-1 doubles a file in memory.
    charset: 'ascii',
    comments: false,
  })
  await build.close()
}

const [source, out, ...names] = process.argv.slice(2)
await bundle(source!, out!, listEntries(source!, names))
