/**
 * §11.4: no regular expression of the engine or the receiver kit backtracks over long input. Steps
 * inside an expression cannot be counted, so each must have a form that is linear for any input.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { expressionsIn, isPlainlyLinear } from '../http/expressions.ts'

const packages = join(import.meta.dirname, '../../..')

/** Input from the operator's machine: arguments, declarations, files. */
const NOT_OUTSIDE = new RegExp(
  [
    'src/(cli|declare/gate|platform/(config|storage))/|src/pages/documentation/(?!routes)',
    String.raw`/service-module\.ts$|\.test\.ts$`,
  ].join('|'),
)

/**
 * Linear in spite of several repetitions: each begins at `^`, and a repeated class excludes the
 * character that follows, so a text matches in one way only. (Checked with recheck 4.5.)
 */
const REVIEWED: readonly string[] = [
  String.raw`/^https?:\/\/([^/?#]*)(.*)$/i`,
  // White space, then any other character: the first one of another kind ends the first part.
  String.raw`/^[^\S\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$/u`,
  String.raw`/^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/`,
  String.raw`/^\[([^\]]*)\](?::\d+)?$/`,
  String.raw`/^[\d.]+:\d+$/`,
  String.raw`/^(\[[^\]]*\]|[^:]*)(?::\d*)?$/`,
  '/^[a-z][a-z0-9_-]*(:[a-z][a-z0-9_-]*)?$/',
  String.raw`/^([a-z0-9_.]+)(?:\[([a-z]+)\])?$/`,
  String.raw`/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/`,
  String.raw`/^\w+:\/\/[^/?]*@/`,
  String.raw`/^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:\/[^/]?/`,
  String.raw`/^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/`,
  String.raw`/^[^\s@]+@[^\s@]+$/`,
  String.raw`/^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d)\$` +
    String.raw`([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/`,
  String.raw`/^(protected|latest|stable|v\d.*|\d.*)$/`,
  String.raw`/^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$/`,
  String.raw`/^\/(\w+)\?(.*)$/`,
  String.raw`/(eyJ)[\w-]{8,}(?:(?:\.|%2[eE])[\w-]*)*/g`,
  String.raw`/[\w-]{40,}/g`,
  String.raw`/(\b(?:Basic|basic|BASIC)(?:[ +]|%20)+)(?=[a-z]*[A-Z0-9])[\w+/=%~-]{8,}/g`,
  String.raw`/\.\d{3}0*[1-9]/`,
  String.raw`/^'(?=[ '"]*[=+\-@＝＋－＠\t\r\n])|(?<=[;\t\r\n])'(?=[ '"]*[=+\-@＝＋－＠])/g`,
  String.raw`/^(?=[ '"]*[=+\-@＝＋－＠\t\r\n])|(?<=[;\t\r\n])(?=[ '"]*[=+\-@＝＋－＠])/g`,
  String.raw`/;(?=[ ']*[=+\-@＝＋－＠])/g`,
  '/(?:"((?:[^"]|"")*)"|([^",]+))(,|$)/y',
  String.raw`/^([a-z][a-z0-9+.-]*:\/\/[^/?#]*)(.*)$/is`,
  String.raw`/^[^/]*\/\/[^/?#]*@/`,
  String.raw`/^[^:]*:\/\/([^/?#]*)/`,
  String.raw`/^(?:\[([\dA-Fa-f:.]+)\]|[^:[\]]*)(?::\d*)?$/`,
  // A media type that a declaration names.
  String.raw`/^[a-z]+\/[a-z0-9][a-z0-9.+-]*$/`,
  // For names of source files, and for a hash that this server computed.
  String.raw`/^\/admin\/as\/[^/]+\/[^/]+(?=\/api\/)/`,
  String.raw`/\{(\w+)\}/g`,
  String.raw`/"#\/components\/(\w+)\/([^"]+)"/g`,
  '/^(.*_)?([^_]*)$/',
  String.raw`/file-thread(\.\w+)$/`,
  String.raw`/^(<\?xml[^>]*>\s*)?(<!--[^>]*-->\s*)?<svg[\s>]/`,
  String.raw`/%(\w+)%/g`,
  String.raw`/deliveries(\.\w+)$/`,
  String.raw`/^ALTER TABLE \w+ ADD COLUMN (\w+)/`,
  String.raw`/([^\s(]+):(\d+):\d+\)?\s*$/`,
  // A number at one place: each part begins with a character that the part before it excludes.
  String.raw`/0[xX][0-9A-Fa-f]+|[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?/y`,
  // Each repetition has the same three characters, and nothing follows.
  // For patterns of schemas: each part ends at a character that it excludes.
  String.raw`/^\^(\w+)\[[^\]]+\]\{(\d+)\}\$$/`,
  '/(?:%[0-9a-f]{2})+/g',
  // White space, then another character, then up to the last colon.
  // Digits follow a colon, so that each character is read at most twice.
  String.raw`/^(?:file:\/\/)?(\/\S.*|[A-Za-z]:[\\/].*):(\d+)$/`,
  String.raw`/^(file:\/\/.*?):(\d+)(?::\d+)?$/`,
  // For statements of this program and of the team's migrations.
  String.raw`/\b(?:ON|TABLE|UPDATE|FROM|INTO) +(?:IF EXISTS +)?(\w+)/i`,
  String.raw`/hash-threads(\.\w+)$/`,
  String.raw`/\[\^?(?:\\[dw^$\\.*+?()[\]{}|/-]|[^\\\]])*\]/`,
  '/=+$/',
  String.raw`/^(?:\/admin\/as\/:customer\/:mode)?\/api\/([^/]+)(\/.+)?$/`,
  // Each match begins with a character that its parts exclude.
  String.raw`/\/\/[^/@]*@/g`,
  String.raw`/<([^<>]*)>([^<>]*)/g`,
  String.raw`/ (\S+)$/`,
  // For paths of declarations: the alternatives have no first character in common.
  String.raw`/^(?::[a-z][a-z0-9_-]*|(?!:)(?:[\w.~!$&'()*+,;=:@-]|%[\dA-Fa-f]{2})+)$/`,
  // For expressions of declarations: literals alternate with other text, and a name with its end.
  "/'[^']*'/g",
  String.raw`/\b[a-z_]\w*\b(?!\s*\()/g`,
  // One class, or one character: nothing follows that could fail.
  String.raw`/[\p{L}\p{N}\p{M}]+|\p{Extended_Pictographic}/gu`,
]

const files = globSync('{gatehook,receiver}/src/**/*.ts', { cwd: packages })
  .filter((path) => !NOT_OUTSIDE.test(path))
  .sort()

test('every expression has a linear form or is reviewed', () => {
  const usedExceptions = new Set<string>()
  let all = 0
  for (const path of files) {
    for (const literal of expressionsIn(readFileSync(join(packages, path), 'utf8'))) {
      all++
      if (isPlainlyLinear(literal)) continue
      assert.ok(REVIEWED.includes(literal), `${path}: ${literal} may backtrack; scan by hand`)
      usedExceptions.add(literal)
    }
  }
  assert.ok(all > 100, 'the expressions are found')
  assert.deepEqual(
    REVIEWED.filter((literal) => !usedExceptions.has(literal)),
    [],
    'the list only shrinks',
  )
})

test('quadratic parsers of Node are not used', () => {
  for (const path of files) {
    const text = readFileSync(join(packages, path), 'utf8')
    assert.doesNotMatch(text, /\bMIMEType\b/, `${path}: 380 parameters take it 190 ms`)
  }
})

test('the criterion rejects quadratic expressions', () => {
  for (const literal of [
    String.raw`/^[ \t]+|[ \t]+$/g`,
    String.raw`/^[ \t]*([^ \t]+)[ \t]*(.*?)[ \t]*$/`,
    String.raw`/application\/vnd\.[\w.-]+\+json/gi`,
    String.raw`/\s+$/`,
    '/^(a+)+$/',
  ]) {
    assert.equal(isPlainlyLinear(literal), false, literal)
  }
  for (const literal of [String.raw`/^[\w-]+$/`, '/[A-Z]+/g', String.raw`/^\d{1,9}(?:px)?$/`]) {
    assert.equal(isPlainlyLinear(literal), true, literal)
  }
})
