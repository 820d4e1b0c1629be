/**
 * `gatehook init`: a small project to start from. Its service is a copy of the reference service,
 * so that there is one source; what surrounds it is written here.
 */
import { cpSync, existsSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { basename, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { reasonOf } from '../config/environment.ts'
import { makeFolder } from '../kernel/folder.ts'
import type { CommandSpec, Input } from './command.ts'
import { CommandError, UsageError } from './mistake.ts'
import { bold, cyan, dim } from './output.ts'
import { packageVersion } from './version.ts'

const PACKAGE = realpathSync(fileURLToPath(new URL('../../', import.meta.url)))
const TEMPLATE = join(PACKAGE, 'service')

/** From a checkout the project uses the checkout; once installed, the version that is published. */
function engineDependency(root: string): string {
  if (PACKAGE.split(sep).includes('node_modules')) return `^${packageVersion}`
  return `file:${relative(realpathSync(root), PACKAGE).split(sep).join('/')}`
}

const npmName = (root: string) =>
  basename(root)
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^-+|-+$/g, '') || 'my-api'

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`

const packageJson = (root: string) =>
  json({
    name: npmName(root),
    version: '0.1.0',
    private: true,
    type: 'module',
    scripts: {
      start: 'gatehook start',
      test: 'gatehook check && node --test',
      types: 'tsc --noEmit',
      check: 'gatehook check',
    },
    dependencies: { gatehook: engineDependency(root), node: '^26' },
    devDependencies: { '@types/node': '^26', typescript: '^7' },
    allowScripts: { node: true },
  })

const tsconfig = json({
  compilerOptions: {
    target: 'esnext',
    module: 'nodenext',
    types: ['node'],
    strict: true,
    noUncheckedIndexedAccess: true,
    erasableSyntaxOnly: true,
    verbatimModuleSyntax: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    noEmit: true,
  },
})

const readme = (root: string) => `# ${npmName(root)}

A public API on [Gatehook](https://www.npmjs.com/package/gatehook). \`service.ts\` says which
resources there are; tables, validation, lists, events and the OpenAPI document follow from it.

\`\`\`sh
npm install
npm start         # http://127.0.0.1:8787, data in ./data
npm test          # npm run check, then your tests
npm run types     # a mistake in a declaration is a compile error
npm run check     # what breaks callers, against api.lock.json
\`\`\`

The first start prints a test key and a request to try. \`npx gatehook --help\` lists the rest.
`

const gitignore = 'node_modules/\n/data/\n'

const smokeTest = `/** A declaration that contradicts itself throws when it is loaded. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { api } from './service.ts'

test('the service declares what it should', () => {
  const { versions, resources } = api.definition
  assert.ok(versions.length > 0)
  assert.ok(resources.length > 0)
})
`

/** Path inside the project → text, apart from the service itself. */
const surroundings = (root: string): Readonly<Record<string, string>> => ({
  'package.json': packageJson(root),
  'tsconfig.json': tsconfig,
  'README.md': readme(root),
  '.gitignore': gitignore,
  'service.test.ts': smokeTest,
})

/** The copy is the project's own from its first line on. */
function nameService(file: string, name: string): void {
  const text = readFileSync(file, 'utf8')
    .replace(
      /^\/\*\*.*\*\/\n/,
      '/** What this API is made of; each resource is a file of its own. */\n',
    )
    .replace(/name: '.*'/, `name: '${name}'`)
  writeFileSync(file, text)
}

function run({ args, out }: Input): undefined {
  const root = resolve(args[0] ?? '.')
  const service = readdirSync(TEMPLATE).filter((name) => !name.endsWith('.test.ts'))
  try {
    makeFolder(root)
  } catch (error) {
    throw new CommandError(`${root} cannot be made: ${reasonOf(error)}.`)
  }
  const files = surroundings(root)
  const names = [...service, ...Object.keys(files)]
  const there = names.filter((name) => existsSync(join(root, name)))
  if (there.length > 0) {
    throw new UsageError(
      `${root} already has ${there.join(', ')}; nothing was written. Choose an empty folder.`,
    )
  }
  for (const name of service) cpSync(join(TEMPLATE, name), join(root, name), { recursive: true })
  nameService(join(root, 'service.ts'), npmName(root))
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(root, name), text, { flag: 'wx' })
  }
  const here = relative(process.cwd(), root)
  const install = `${here && `cd ${here} && `}npm install && npm start`
  out.result({ folder: root, files: names.sort() }, () =>
    [
      `${bold(npmName(root))} is written:`,
      '',
      ...names.sort().map((name) => `  ${dim('·')} ${name}`),
      '',
      'Next:',
      '',
      `  ${cyan(`npx gatehook start ${here}`.trim())}   ${dim('at once, with this very Gatehook')}`,
      `  ${cyan(install)}   ${dim('as a project of its own')}`,
    ].join('\n'),
  )
}

export const init: CommandSpec = {
  name: 'init [DIR]',
  summary: 'write a small project to start from',
  description: 'Writes a project with the reference service into DIR (default: this folder).',
  examples: [
    ['gatehook init my-api', 'makes the folder and writes the project'],
    ['cd my-api && gatehook start', 'serves it'],
  ],
  run,
}
