/**
 * Plain English, checked by reading the files: names, comments, messages, test titles and prose use
 * the terms of the field. `NOT_PLAIN` lists files that have yet to be rewritten; it only shrinks.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { codeOf } from './tidy-code.ts'
import { NOT_PLAIN, REPEATED_TYPES } from './tidy-exceptions.ts'

const root = join(import.meta.dirname, '..')
const THIS_FILE = 'test/tidy-english.test.ts'
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path !== '' && path !== THIS_FILE && existsSync(join(root, path)))
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

/** Participles and pronouns that say nothing about the value they name. */
const BANNED_NAMES = new RegExp(
  `(?<![\\w$])(${[
    'told shown known asked kept made wanted issued settled counted unrotated takenBack',
    'judged heard found wish wishes one what turn by',
  ]
    .join(' ')
    .replaceAll(' ', '|')})(?![\\w$])`,
  'g',
)

/** Words and turns of phrase that have a standard term, and the term to use. */
const BANNED_PROSE: readonly [pattern: RegExp, instead: string][] = [
  [/\b(nobody|somebody|anybody|whoever|whomever)\b/i, 'null, unauthenticated, or the actor'],
  [/\b(told|tells? apart)\b/i, 'returned, reported, notified; distinguish'],
  [/\bjudg(e|es|ed|ing|ement)\b/i, 'validate, verify, classify'],
  [/\b(asks?|asked|asking)\b/i, 'request, require, query'],
  [/\bkept\b/i, 'stored, cached, retained'],
  [/\bshown\b/i, 'returned, displayed'],
  [/\bheard\b/i, 'received, applied'],
  [/\bmade\b/i, 'created, generated, derived'],
  [/\b(is|are|was|were|be) (not )?known\b/i, 'cached, registered, identified'],
  [/\b(rooms?|bell|roster|ledger|upstairs|downstairs)\b/i, 'module, or the standard noun'],
  [/\bmend(s|ed|ing)?\b/i, 'fix, correct'],
  [/\b(seals?|sealed|sealing|unseals?)\b/i, 'encrypt, decrypt'],
  [/\bforgotten\b|\bforgets?\b|\bthrown? away\b/i, 'purged, evicted'],
  [/\bstands?\b/i, 'is listed, is stored, is'],
  [/\b(nothing|anything) but\b|\bno more than is\b/i, 'the positive fact'],
  [/\b(one|some|none) of ours\b/i, 'issued (or signed) by this server'],
  [/\b(comes?|came|sent|tried|send|try) again\b/i, 'is replayed, resent, retried'],
  [/\b(turned away|switched off|parked|the law)\b/i, 'rejected, disabled, on hold, the invariant'],
  [/\bon (its|their) way\b/i, 'in transit'],
  [/\bwhat (is|are|was|were|has|comes|came|may|must|follows|happens|happened)\b/i, 'the thing'],
  [/\bof (who|what|whom)\b/i, 'the thing'],
  [/(^|[.;:(] )(who|what|whose|whom)\b(?![^.]*\?)/i, 'a sentence whose subject is a noun'],
  [/\bdead\b(?![- ]letter)/i, 'revoked, expired, deleted'],
]

const COMMENT = /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*/gm
const STRING = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g
const COMMENT_OR_STRING = new RegExp(`${COMMENT.source}|${STRING.source}`, 'gm')

const isPlain = (path: string) => !NOT_PLAIN.some((prefix) => path.startsWith(prefix))
const isSource = (path: string) => /\.tsx?$/.test(path) && !path.includes('/fixtures/')
const isEngine = (path: string) =>
  /^packages\/[\w-]+\/(src|service)\//.test(path) && !path.endsWith('.test.ts')

const withoutBackquotes = (text: string) => text.replace(/`[^`]*`/g, '`x`')
const withoutTargets = (text: string) => text.replace(/\]\([^)]*\)/g, ']')
const joined = (comment: string) =>
  withoutBackquotes(comment.replace(/^[ \t]*(\/\*+|\*\/|\*|\/\/)[ \t]?/gm, '').replace(/\s+/g, ' '))

/** Comments, titles of tests, and in shipped sources every string that reads like a sentence. */
function proseOf(path: string): string[] {
  const text = read(path)
  if (path.endsWith('.md')) {
    const prose = text.replace(/^```[\s\S]*?^```/gm, '')
    return withoutTargets(withoutBackquotes(prose)).split('\n')
  }
  const comments = [...text.matchAll(COMMENT)].map(([comment]) => joined(comment))
  const code = text.replace(COMMENT, '')
  const titles = [...code.matchAll(/^\s*(?:test|eachService|eachDatabase)\(\s*'([^'\n]*)'/gm)]
  const messages = isEngine(path)
    ? [...code.matchAll(STRING)].map(([literal]) =>
        literal.replace(/\$\{[^}]*\}/g, 'x').slice(1, -1),
      )
    : []
  const sentences = messages.filter(
    (message) =>
      /^[A-Z`x].*\w \w+ \w/.test(message) &&
      !/^(SELECT|INSERT|UPDATE|DELETE|WITH|CREATE|ALTER)\b/.test(message),
  )
  return [...comments, ...titles.map((match) => match[1]!), ...sentences]
}

const CHECKED = /\.(tsx?|md)$/
const prosePaths = files.filter((path) => CHECKED.test(path) && isPlain(path))

test('prose uses the terms of the field', () => {
  const faults: string[] = []
  for (const path of prosePaths) {
    for (const sentence of proseOf(path)) {
      for (const [pattern, instead] of BANNED_PROSE) {
        const at = sentence.search(pattern)
        if (at < 0) continue
        faults.push(`${path}: "${sentence.slice(Math.max(0, at - 30), at + 40)}" → ${instead}`)
      }
    }
  }
  assert.equal(faults.length, 0, faults.join('\n'))
})

test('names are nouns, or verb and object', () => {
  const faults: string[] = []
  for (const path of files.filter((path) => isSource(path) && isPlain(path))) {
    const code = codeOf(path).replace(/'[^'\n]*'/g, "''") // without names of modules
    for (const [name] of code.matchAll(BANNED_NAMES)) faults.push(`${path}: ${name}`)
  }
  assert.equal(faults.length, 0, faults.join('\n'))
})

test('a type name is declared in one file of the engine', () => {
  const declaredIn = new Map<string, Set<string>>()
  for (const path of files.filter(
    (path) => isEngine(path) && path.endsWith('.ts') && path.startsWith('packages/gatehook/src/'),
  )) {
    const code = read(path).replace(COMMENT_OR_STRING, "''")
    for (const [, name] of code.matchAll(
      /^(?:export )?(?:type|interface|class|abstract class) (\w+)/gm,
    )) {
      declaredIn.set(name!, (declaredIn.get(name!) ?? new Set()).add(path))
    }
  }
  const repeated = [...declaredIn]
    .filter(([, paths]) => paths.size > 1)
    .map(([name]) => name)
    .sort()
  assert.deepEqual(
    repeated,
    [...REPEATED_TYPES].sort(),
    'the list of repeated type names only shrinks',
  )
})
