/**
 * §8.1–8.4: every combination of path, query, headers, media type, pin and strict mode. Each value
 * has its meaning beside it; `expected` derives the response from the meanings.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openService } from '../../../../test/rig/service.ts'

/** A version, none, or the rejection of the value. */
type Meaning = 'v1' | 'v2' | undefined | readonly [status: number, code: string]
type Cell = readonly [value: string, meaning: Meaning]

const invalid = [400, 'invalid_version'] as const
const unsupported = [400, 'unsupported_version'] as const
const conflict = [400, 'version_conflict'] as const

const paths: readonly Cell[] = [
  ['', undefined],
  ['/v1', 'v1'],
  ['/v2', 'v2'],
  ['/v9', [404, 'unknown_version']],
  ['/v01', invalid],
  ['/2026-06-01', invalid],
]
const queries: readonly Cell[] = [
  ['', undefined],
  ['version=v1', 'v1'],
  ['v=2', 'v2'],
  ['api-version=2025-06-01', 'v1'],
  ['version=v2&v=2&api-version=2026-06-01', 'v2'],
  ['version=v9', unsupported],
  ['v=2025-06-02', unsupported],
  ['version=latest', invalid],
  ['version=', invalid],
  ['api-version=2025-13-01', invalid],
  ['version=v1&version=v2', conflict],
  ['version=v1&v=v2', conflict],
]
const headers: readonly Cell[] = [
  ['', undefined],
  ['x-api-version: 1', 'v1'],
  ['api-version: v2', 'v2'],
  ['x-api-version: 2026-06-01', 'v2'],
  ['x-api-version: v9', unsupported],
  ['api-version: V1', invalid],
  ['x-api-version: v1, v2', conflict],
]
const accepts: readonly Cell[] = [
  ['', undefined],
  ['application/json', undefined],
  ['application/vnd.gatehook.api.v1+json', 'v1'],
  ['application/vnd.gatehook.api.2+json', 'v2'],
  ['application/vnd.gatehook.api.v1+json;q=0.5, application/vnd.gatehook.api.v2+json', 'v2'],
  ['application/vnd.gatehook.api.v1+json;q=0.5, application/json', undefined],
  ['application/vnd.gatehook.api.v9+json', [406, 'not_acceptable']],
  ['application/vnd.gatehook.api.v1.2+json', invalid],
]

const isRejection = (meaning: Meaning) => Array.isArray(meaning)

/** Invalid values precede conflicts, in the order path, query, headers, `Accept`. */
function expected(meanings: readonly Meaning[], pin: string | undefined, strict: boolean) {
  const rejection = meanings.find(isRejection)
  if (rejection) return rejection
  const versions = new Set(meanings.filter((meaning) => meaning !== undefined))
  if (versions.size > 1) return conflict
  const [version] = versions
  if (version === undefined && pin === undefined && strict)
    return [400, 'version_required'] as const
  return version ?? pin ?? 'v1'
}

for (const strict of [false, true]) {
  test(`every combination, ${strict ? 'strict' : 'not strict'}`, async (t) => {
    const env = { GATEHOOK_STRICT_VERSION: strict ? '1' : '0' }
    const service = await openService(t, 'sqlite', { env })
    const callers = [
      [service.as(await service.key()), undefined],
      [service.as(await service.key({ api_version: 'v2' })), 'v2'],
    ] as const
    let cells = 0
    for (const [path, inPath] of paths) {
      for (const [query, inQuery] of queries) {
        for (const [header, inHeader] of headers) {
          for (const [accept, inAccept] of accepts) {
            const meanings = [inPath, inQuery, inHeader, inAccept]
            for (const [caller, pin] of callers) {
              const sent: Record<string, string> = accept === '' ? {} : { accept }
              const [name, value] = header.split(': ')
              if (name && value) sent[name] = value
              const reply = await caller.get(`/api${path}/protected?${query}`, sent)
              const want = expected(meanings, pin, strict)
              const got =
                reply.status === 200
                  ? reply.headers['x-api-version']
                  : [reply.status, reply.body.error]
              const cell = [path, query, header, accept, pin, strict].join(' | ')
              assert.deepEqual(got, want, cell)
              cells++
            }
          }
        }
      }
    }
    assert.equal(cells, 6 * 12 * 7 * 8 * 2)
  })
}
