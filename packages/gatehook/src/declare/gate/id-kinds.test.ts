/** A change of the ids of a resource is a break that no `.before()` bridges. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { check, promisesOf } from '../../cli/check.ts'
import { f } from '../../protocol/fields/f.ts'
import type { AnyField } from '../../protocol/fields/fields.ts'
import { resource } from '../resources/resource.ts'
import { service } from '../resources/service.ts'
import { fieldCode } from './field-code.ts'
import { lockOf } from './lock.ts'

const access = { read: 'r', create: 'w', update: 'w', delete: false } as const

const serviceWith = (id: AnyField, reference: AnyField) =>
  service({
    name: 'hotel',
    versions: { v1: { released: '2026-01-01' } },
    resources: [
      resource('bookings', {
        fields: { id: id as ReturnType<typeof f.id>, guest: f.string() },
        list: { filter: ['id'], sort: [] },
        access,
        events: [],
      }),
      resource('payments', {
        fields: { id: f.id(), booking_id: reference as ReturnType<typeof f.ref> },
        list: { filter: [], sort: [] },
        access,
        events: [],
      }),
    ],
  }).definition

const integers = serviceWith(f.id(), f.ref('bookings'))
const texts = serviceWith(f.id('bk'), f.ref('bookings', 'bk'))
const others = serviceWith(f.id('book'), f.ref('bookings', 'book'))

test('another kind of ids, or another prefix, is a break without a stub', () => {
  for (const [before, after, sentence] of [
    [integers, texts, /"id" of .* can now be a string/],
    [texts, integers, /"id" of .* can now be an integer/],
    [texts, others, /The keyword "pattern" of "id"/],
  ] as const) {
    const { mend, remaining } = check(after, lockOf(promisesOf(before)))
    assert.deepEqual(mend?.stubs ?? [], [])
    const sentences = remaining.map((finding) => JSON.stringify(finding).replaceAll('\\"', '"'))
    for (const part of [sentence, /booking_id/, /after_id/, /path parameter/]) {
      assert.ok(
        sentences.some((text) => part.test(text)),
        `${part}\n${sentences.join('\n')}`,
      )
    }
  }
  assert.deepEqual(check(texts, lockOf(promisesOf(texts))).remaining, [])
})

test('the code of a reference to such ids has their prefix', () => {
  assert.equal(fieldCode(f.ref('bookings', 'bk').spec), "f.ref('bookings', 'bk')")
})
