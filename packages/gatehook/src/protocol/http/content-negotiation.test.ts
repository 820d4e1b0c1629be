import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Failure } from '../../kernel/failure.ts'
import type { Call } from './call.ts'
import {
  acceptedTypes,
  findBodyTypeProblem,
  prefersProblem,
  requireAcceptable,
  vendorTypePattern,
} from './content-negotiation.ts'

const accepts = (accept: string | undefined, produces?: string[]): boolean => {
  const operation = { handle: () => ({ status: 200 }), ...(produces && { produces }) }
  const call = { headers: { accept }, operation } as unknown as Call
  try {
    requireAcceptable('gatehook')(call)
    return true
  } catch (error) {
    assert.equal((error as Failure).code, 'not_acceptable')
    return false
  }
}

test('every media range that includes JSON is acceptable', () => {
  const accepted = [
    undefined,
    '*/*',
    'application/*',
    'application/json',
    'Application/JSON; charset=utf-8',
    'text/html, */*;q=0.1',
    'application/problem+json',
    'application/vnd.gatehook.api.v2+json',
    'application/vnd.gatehook.api.v1.2.3+json',
    'text/html, application/vnd.gatehook.api.v2+json;q=0.5',
    'gibberish',
    '',
  ]
  for (const accept of accepted) assert.equal(accepts(accept), true, String(accept))
  const rejected = [
    'text/html',
    'application/xml',
    'application/json;q=0',
    '*/*;q=0',
    'application/vnd.other.api.v2+json',
    'image/*, text/*',
  ]
  for (const accept of rejected) assert.equal(accepts(accept), false, accept)
})

test('an operation with another media type requires that type', () => {
  assert.equal(accepts('text/html', ['text/html']), true)
  assert.equal(accepts('application/json', ['text/html']), false)
  assert.equal(accepts('*/*', ['text/html']), true)
  assert.equal(accepts('application/vnd.gatehook.api.v2+json', ['text/html']), false)
})

test('errors are problem+json if the caller prefers it at least as much as JSON', () => {
  const cases: [string | undefined, boolean][] = [
    [undefined, false],
    ['*/*', false],
    ['application/json', false],
    ['application/problem+json', true],
    ['APPLICATION/PROBLEM+JSON', true],
    ['application/problem+json, application/json;q=0.9', true],
    ['application/json, application/problem+json;q=0.9', false],
    ['application/json;q=0.5, application/problem+json', true],
    ['application/vnd.gatehook.api.v2+json, application/problem+json;q=0.5', false],
    ['application/problem+json;q=0, */*', false],
    ['text/html, application/problem+json', true],
  ]
  for (const [accept, expected] of cases) {
    assert.equal(prefersProblem(accept), expected, String(accept))
  }
})

test('the type, charset and encoding of a body must be supported', () => {
  const vendor = vendorTypePattern('gatehook')
  const json = acceptedTypes({ handle: () => ({ status: 200 }) }, 'POST')
  const problemOf = (type?: string, encoding?: string, types = json) =>
    findBodyTypeProblem(type, encoding, types, vendor)
  for (const type of [
    'application/json',
    'Application/JSON',
    'application/json; charset=UTF-8',
    'application/json;charset="utf-8"',
    'application/vnd.gatehook.api.v2+json',
  ]) {
    assert.equal(problemOf(type), undefined, type)
  }
  for (const type of [
    undefined,
    'text/plain',
    'application/json; charset=latin1',
    'application/x-www-form-urlencoded',
    'application/merge-patch+json',
    'application/vnd.other.api.v2+json',
    'json',
    ';',
  ]) {
    assert.equal(typeof problemOf(type), 'string', String(type))
  }
  assert.equal(problemOf('application/json', 'identity'), undefined)
  assert.match(problemOf('application/json', 'gzip') ?? '', /Compressed/)
  const patch = acceptedTypes({ handle: () => ({ status: 200 }) }, 'PATCH')
  assert.equal(problemOf('application/merge-patch+json', undefined, patch), undefined)
})
