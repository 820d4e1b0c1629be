/** The command lines that pages offer to copy: the parser accepts all, and some run. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { CommandSpec } from '../packages/gatehook/src/cli/command.ts'
import { type CommandList, loadCommands } from '../packages/gatehook/src/cli/commands.ts'
import { createProgram } from '../packages/gatehook/src/cli/program.ts'
import * as pageCommands from '../packages/pages/src/commands.ts'
import { gatehookWith, startService } from './docs/process.ts'

const ROOT = join(import.meta.dirname, '..')
const SERVICE = fileURLToPath(new URL('../packages/gatehook/service', import.meta.url))
const commands = await loadCommands(undefined)

/** The commands by name, in both modes, for a node on the default port and on another one. */
const offered: Readonly<Record<keyof typeof pageCommands, readonly string[]>> = {
  initCommand: [pageCommands.initCommand],
  createOperatorCommand: [pageCommands.createOperatorCommand],
  restoreRevocationsCommand: [pageCommands.restoreRevocationsCommand],
  discardEventCommand: [pageCommands.discardEventCommand('evt_1')],
  operatorLinkCommand: [pageCommands.operatorLinkCommand],
  createKeyCommand: [pageCommands.createKeyCommand('live'), pageCommands.createKeyCommand('test')],
  createClientCommand: [
    pageCommands.createClientCommand('live'),
    pageCommands.createClientCommand('test'),
  ],
  createIssuerCommand: [pageCommands.createIssuerCommand],
  exportCustomerCommand: [pageCommands.exportCustomerCommand('cus_1')],
  exportPersonCommand: [pageCommands.exportPersonCommand('1')],
  listenCommand: [pageCommands.listenCommand(''), pageCommands.listenCommand('9001')],
  forwardCommand: [
    pageCommands.forwardCommand('live', ''),
    pageCommands.forwardCommand('test', '9001'),
  ],
  triggerCommand: [
    pageCommands.triggerCommand('user.created', '8787'),
    pageCommands.triggerCommand('user.created', '9001'),
  ],
}

/** Splits a command line as a shell does, without variables; the names of programs are left out. */
const wordsOf = (line: string): string[] =>
  [...line.matchAll(/(?:[^\s"']|"[^"]*"|'[^']*')+/g)]
    .map(([word]) => word.replace(/["']/g, ''))
    .filter((word, at) => !(at === 0 && word === 'npx'))
    .slice(1)

/** The commands without their implementation. */
const parsers: CommandList = commands.map((entry) => {
  const idle = (spec: CommandSpec): CommandSpec => ({ ...spec, run: () => undefined })
  return 'commands' in entry ? { ...entry, commands: entry.commands.map(idle) } : idle(entry)
})

/** Returns the mistake that the command line reports; undefined if it parses. */
async function mistakeOf(line: string): Promise<string | undefined> {
  const words = wordsOf(line)
  const named = parsers.filter(({ name }) => name.split(' ')[0] === words[0])
  try {
    await createProgram(named).parseAsync(words, { from: 'user' })
    return undefined
  } catch (error) {
    const { message, exitCode } = error as Error & { readonly exitCode?: number }
    return exitCode === 0 ? undefined : `${line}\n    ${message}`
  }
}

const mistakesOf = async (lines: readonly string[]) =>
  (await Promise.all(lines.map(mistakeOf))).filter((mistake) => mistake !== undefined)

test('the parser reports excess and missing arguments, and unknown options', async () => {
  const wrong = [
    'npx gatehook keys create "My program" --mode live',
    'npx gatehook clients create --name "My app" --redirect https://app.example.com',
    'gatehook trigger',
    'gatehook nothing',
  ]
  assert.equal((await mistakesOf(wrong)).length, wrong.length)
})

test('every command that a page offers is one that the command line accepts', async () => {
  const lines = Object.values(offered).flat()
  assert.deepEqual(await mistakesOf(lines), [])
  for (const line of lines) assert.match(line, /^npx gatehook /)
})

test('every example of --help is one that the command line accepts', async () => {
  const specs = commands.flatMap((entry) => ('commands' in entry ? entry.commands : [entry]))
  const lines = specs.flatMap(({ examples }) => examples.map(([line]) => line))
  assert.deepEqual(await mistakesOf(lines.filter((line) => /^gatehook [^|<>$;&]*$/.test(line))), [])
})

test('pages take command lines from commands.ts', () => {
  const names = commands.map(({ name }) => name.split(' ')[0]).join('|')
  const files = execFileSync(
    'git',
    ['ls-files', '-co', '--exclude-standard', 'packages/pages/src'],
    {
      cwd: ROOT,
      encoding: 'utf8',
    },
  )
  for (const path of files.split('\n')) {
    if (!/\.tsx?$/.test(path) || path.endsWith('/commands.ts')) continue
    const text = readFileSync(join(ROOT, path), 'utf8').replace(/\/\*[\s\S]*?\*\//g, '')
    const [line] = new RegExp(`gatehook (${names})\\b.*`).exec(text) ?? []
    assert.equal(line, undefined, path)
  }
})

/** Returns the texts of the docs that a service writes, as Markdown. */
async function docsOf(url: string): Promise<string[]> {
  const index = await (await fetch(`${url}/llms.txt`)).text()
  const paths = new Set(
    [...index.matchAll(/\((?:https?:\/\/[^/)]+)?(\/docs\/[^)#]*\.md)/g)].map(([, path]) => path!),
  )
  assert.ok(paths.size > 10, index)
  return Promise.all([...paths].map(async (path) => (await fetch(url + path)).text()))
}

test('offered commands succeed beside a running service', async (t) => {
  const { url, database } = await startService(t, SERVICE, [])
  const documented = (await docsOf(url)).flatMap((text) =>
    [...text.matchAll(/npx gatehook [^`\n]*/g)].map(([line]) => line),
  )
  assert.ok(documented.length > 0)
  assert.deepEqual(await mistakesOf(documented), [])
  const environment = { GATEHOOK_DATABASE_URL: database }
  for (const line of [
    ...new Set(documented),
    ...offered.createKeyCommand,
    ...offered.createClientCommand,
    pageCommands.triggerCommand('user.created', new URL(url).port),
  ]) {
    await gatehookWith(environment, ...wordsOf(line), '--dir', SERVICE)
  }
})
