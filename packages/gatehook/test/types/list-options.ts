/** Fields without an index: the errors that `tsc` must report. The file is compiled, not run. */
import { f, resource } from 'gatehook'

const fields = { id: f.id(), amount: f.int() } as const
const access = { read: 'r', create: 'w', update: 'w', delete: false } as const
const unindexed = { field: 'amount', index: false } as const

const list = { filter: [unindexed], sort: [unindexed, 'id'] } as const
resource('orders', { fields, list, access, events: [] })
const otherField = { filter: [{ ...unindexed, field: 'size' }], sort: [] } as const
// @ts-expect-error: there is no field size
resource('orders', { fields, list: otherField, access, events: [] })
const indexed = { filter: [], sort: [{ ...unindexed, index: true }] } as const
// @ts-expect-error: an index is the default
resource('orders', { fields, list: indexed, access, events: [] })
