import assert from 'node:assert/strict'
import { test } from 'node:test'
import { singularOf } from './singular.ts'

test('the singular of a name follows from its last word', () => {
  const plurals = {
    order: 'orders',
    tax_rate: 'tax_rates',
    line_item: 'line_items',
    company: 'companies',
    key: 'keys',
    address: 'addresses',
    box: 'boxes',
    batch: 'batches',
    status: 'statuses',
    warehouse: 'warehouses',
    purchase: 'purchases',
    invoice: 'invoices',
    person: 'people',
    contact_person: 'contact_people',
    shelf: 'shelves',
    news: 'news',
    movie: 'movies',
    sheep: 'sheep',
    delivery_status: 'delivery_status',
  }
  for (const [singular, plural] of Object.entries(plurals)) {
    assert.equal(singularOf(plural), singular)
  }
})
