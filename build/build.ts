/**
 * `npm run build [PACKAGE…]`: compiles packages into their `dist/` as ES modules with source maps
 * and declarations. Joins the modules of the engine into few files (`bundle.ts`). Copies files that
 * are not TypeScript.
 */
import { execFileSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { entryNames, type Package, publishedPackages, root } from './packages.ts'

const require = createRequire(import.meta.url)
const TSC = join(dirname(require.resolve('typescript/package.json')), 'bin', 'tsc')

/** TypeScript projects of a package: configuration, source folder, output folder. */
const PROJECTS = [
  { config: 'tsconfig.build.json', from: 'src', to: 'dist' },
  { config: 'tsconfig.build.service.json', from: 'service', to: 'dist/service' },
]

/** The package that is a program; the others are small libraries. */
const BUNDLED = 'gatehook'

/** Compiles a package. A package without a build project is published unchanged. */
export function buildPackage(unit: Package): void {
  if (unit.manifest.files?.includes('pages')) {
    execFileSync(process.execPath, [join(import.meta.dirname, 'pages.ts')], { stdio: 'inherit' })
  }
  const projects = PROJECTS.filter(({ config }) => existsSync(join(unit.folder, config)))
  if (projects.length === 0) return
  const dist = join(unit.folder, 'dist')
  rmSync(dist, { recursive: true, force: true })
  for (const { config, from, to } of projects) {
    const isBundled = unit.name === BUNDLED && to === 'dist'
    compile(join(unit.folder, config), isBundled ? ['--emitDeclarationOnly'] : [])
    if (isBundled) runBundler(join(unit.folder, from), dist, entryNames(unit))
    copyOtherFiles(join(unit.folder, from), join(unit.folder, to))
    if (to === 'dist') finishDeclarations(dist, entryNames(unit))
  }
}

function runBundler(source: string, dist: string, names: readonly string[]): void {
  const script = join(import.meta.dirname, 'bundle.ts')
  execFileSync(process.execPath, [script, source, dist, ...names], { stdio: 'inherit' })
}

function compile(config: string, options: readonly string[]): void {
  try {
    execFileSync(process.execPath, [TSC, '-p', config, ...options], { cwd: root, stdio: 'pipe' })
  } catch (error) {
    throw new Error(String((error as { stdout?: Buffer }).stdout ?? error))
  }
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

function copyOtherFiles(from: string, to: string): void {
  for (const file of filesIn(from).filter((path) => !path.endsWith('.ts'))) {
    const target = join(to, file.slice(from.length))
    mkdirSync(dirname(target), { recursive: true })
    copyFileSync(file, target)
  }
}

/**
 * A relative import of a declaration file, `from './x.ts'` or `import('./x.ts')`, in groups; or a
 * comment or string, which may contain the text of one.
 */
const RELATIVE = new RegExp(
  [
    /(\bfrom |\bimport\(|^import )(['"])(\.{1,2}\/[^'"]+)\.ts\2/,
    /\/\*[\s\S]*?\*\//,
    /'[^'\n]*'|"[^"\n]*"/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'gm',
)

/** Replaces `.ts` by `.js` in the imports of a declaration, which the compiler leaves unchanged. */
export const withScripts = (text: string): string =>
  text.replace(RELATIVE, (all, before, quote, path) =>
    path === undefined ? all : `${before}${quote}${path}.js${quote}`,
  )

/** Finishes the declarations that an entry reaches, and removes the others. */
function finishDeclarations(dist: string, entries: readonly string[]): void {
  const reachable = new Set<string>()
  const visit = (file: string): void => {
    if (reachable.has(file)) return
    reachable.add(file)
    const text = readFileSync(file, 'utf8')
    for (const [, , , path] of text.matchAll(RELATIVE)) {
      if (path !== undefined) visit(join(dirname(file), `${path}.d.ts`))
    }
    writeFileSync(file, withScripts(text))
  }
  for (const name of entries) visit(join(dist, `${name}.d.ts`))
  for (const file of filesIn(dist)) {
    if (file.endsWith('.d.ts') && !reachable.has(file)) rmSync(file)
  }
}

if (import.meta.main) {
  const names = process.argv.slice(2)
  for (const unit of publishedPackages()) {
    if (names.length > 0 && !names.includes(unit.name)) continue
    buildPackage(unit)
    console.log(`built ${unit.name}`)
  }
}
