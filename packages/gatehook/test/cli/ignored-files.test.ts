/** Git and Docker ignore the secrets, backups and exports of the guides in a new project. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { gatehook } from './command.ts'

const GUIDES = new URL('../../../../docs/guides/', import.meta.url)
/** Names of files with secrets, or with rows of customers. */
const SECRET = /(?<![\w$])[\w./-]*(?:\.env|\w\.(?:key|gatehook|ndjson|db))\b[\w.-]*/g

function guideFiles(): string[] {
  const texts = readdirSync(GUIDES).map((guide) => readFileSync(new URL(guide, GUIDES), 'utf8'))
  // `process.env.PORT` is no file, and `application/vnd.gatehook` is a media type.
  const all = texts.flatMap((text) => text.match(SECRET) ?? [])
  const files = all.filter((path) => !/process\.env|vnd\.|^\/?\.env\./.test(path))
  return [
    ...new Set(
      files.map(
        (path) =>
          path
            .replace(/[.-]+$/, '')
            .split('/')
            .at(-1)!,
      ),
    ),
  ]
}

/** Returns the test of a line of `.dockerignore`, which has no negation here. */
function dockerPattern(line: string): RegExp {
  const text = line
    .replace(/[.]/g, '\\.')
    .replace('**/', '(?:.*/)?')
    .replace(/(?<![)])\*/g, '[^/]*')
  return new RegExp(`^${text}(?:/|$)`)
}

test('secrets, backups and exports reach neither a commit nor an image', async (t) => {
  const cwd = emptyFolder(t)
  await gatehook({ cwd }, 'init', 'api', '--no-pack')
  const folder = join(cwd, 'api')
  const names = [...guideFiles(), '.env', '.env.production', 'gatehook.db-wal']
  for (const name of ['.env', 'secret.key', 'secret.key.previous', 'gatehook.db', 'ada.ndjson'])
    assert.ok(names.includes(name), `${name}: ${names}`)
  assert.ok(names.some((name) => name.endsWith('.gatehook')))
  const paths = names.flatMap((name) => [name, `deploy/${name}`])
  execFileSync('git', ['init', '-q'], { cwd: folder })
  const ignored = execFileSync('git', ['check-ignore', '--no-index', ...paths], { cwd: folder })
  assert.deepEqual(String(ignored).trim().split('\n'), paths)
  const lines = readFileSync(join(folder, '.dockerignore'), 'utf8').split('\n')
  const patterns = lines.filter((line) => line !== '' && !line.startsWith('#')).map(dockerPattern)
  const isInImage = (path: string) => !patterns.some((pattern) => pattern.test(path))
  assert.deepEqual(paths.filter(isInImage), [])
  // The files of the project are in both.
  const own = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (path) => !/^(\.git|data)(\/|$)/.test(path),
  )
  assert.deepEqual(
    own.filter((path) => !isInImage(path)),
    [],
  )
  const status = execFileSync('git', ['status', '--porcelain', '--ignored'], { cwd: folder })
  assert.doesNotMatch(String(status), /^!! (?!data)/m)
})
