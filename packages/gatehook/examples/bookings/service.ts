/** A hotel: rates, guests, and bookings that never overlap, in two versions. */
import { Failure, f, resource, type ServiceTx, service, sql, table } from 'gatehook'

const access = (name: string) =>
  ({
    read: `${name}:read`,
    create: `${name}:write`,
    update: `${name}:write`,
    delete: `${name}:write`,
  }) as const

const DAY_MS = 86_400_000
const LAST_DAY = 1_000_000

/** Returns a date of samples: the n-th day after the given one. */
const dayAfter = (start: string, n: number): string =>
  new Date(Date.parse(start) + (n % LAST_DAY) * DAY_MS).toISOString().slice(0, 10)

export const rooms = resource('rooms', {
  fields: {
    id: f.id(),
    number: f.pattern(/^[0-9]{1,4}$/).unique(),
    beds: f.int().min(1).max(8),
    created_at: f.createdAt(),
  },
  list: { filter: ['number', 'beds'], sort: ['number', 'beds', 'created_at'] },
  access: access('rooms'),
  events: ['room.created', 'room.updated', 'room.deleted'],
}).sample((n) => ({ number: String(100 + n), beds: 1 + (n % 4) }))

/** The price of a night, from one date until a later rate begins. */
export const rates = resource('rates', {
  fields: {
    id: f.id(),
    room_id: f.ref('rooms').onDelete('cascade'),
    from_night: f.date(),
    price: f.decimal(8, 2).min(0).describe('For one night.'),
  },
  list: { filter: ['room_id'], sort: ['from_night'] },
  unique: [['room_id', 'from_night']],
  access: access('rooms'),
  events: [],
}).sample((n) => ({ from_night: dayAfter('2020-01-01', n), price: `${60 + (n % 40)}.00` }))

export const guests = resource('guests', {
  fields: {
    id: f.id(),
    full_name: f.string().min(1).max(200),
    email: f.email().unique(),
    metadata: f.metadata(),
    created_at: f.createdAt(),
  },
  list: { filter: ['email', 'full_name', 'metadata'], sort: ['full_name', 'created_at'] },
  access: access('guests'),
  events: ['guest.created', 'guest.updated', 'guest.deleted'],
})
  .sample((n) => ({ full_name: `Guest ${n}`, email: `guest${n}@example.com` }))
  .before('v2', {
    why: 'A name is not always a first and a last name.',
    had: { first_name: f.string().min(1).max(99), last_name: f.string().max(100).default('') },
    hadNot: ['full_name'],
    up: (old) => ({ full_name: `${old.first_name} ${old.last_name}`.trim() }),
    down: ({ full_name }) => {
      const [first_name = '', ...others] = full_name.split(' ')
      return { first_name: first_name.slice(0, 99), last_name: others.join(' ').slice(0, 100) }
    },
  })

export const bookings = resource('bookings', {
  fields: {
    id: f.id('bk'),
    room_id: f.ref('rooms'),
    guest_id: f.ref('guests'),
    arrives: f.date(),
    departs: f.date(),
    status: f.oneOf(['booked', 'arrived', 'departed', 'cancelled']).default('booked').readonly(),
    total: f.decimal(10, 2).default('0.00').readonly().describe('The rates of all nights.'),
    created_at: f.createdAt(),
    updated_at: f.updatedAt(),
  },
  list: {
    filter: ['room_id', 'guest_id', 'status', 'arrives', 'departs'],
    sort: ['arrives', 'created_at'],
  },
  access: { ...access('bookings'), delete: false },
  events: ['booking.created', 'booking.updated'],
})
  .sample((n) => ({ arrives: dayAfter('2027-01-01', n), departs: dayAfter('2027-01-04', n) }))
  .links(({ id, room_id, guest_id }) => ({
    self: `/bookings/${id}`,
    room: `/rooms/${room_id}`,
    guest: `/guests/${guest_id}`,
  }))
  .check('departs_after_arrives', (row) => row.departs > row.arrives, 'departs must be later')
  .rule('create', async ({ tx, lock, after }) => {
    await lock(rooms, after.room_id)
    await refuseOverlap(tx, after)
    return { total: await totalOf(tx, after) }
  })
  .rule('update', async ({ tx, lock, after }) => {
    await lock(rooms, after.room_id)
    await refuseOverlap(tx, after)
    return { total: await totalOf(tx, after) }
  })
  .editable(['room_id', 'arrives', 'departs'], { from: ['booked'] })
  .action('arrive', {
    scope: 'bookings:write',
    from: ['booked'],
    to: 'arrived',
    emits: 'booking.arrived',
  })
  .action('depart', {
    scope: 'bookings:write',
    from: ['arrived'],
    to: 'departed',
    emits: 'booking.departed',
  })
  .action('cancel', {
    scope: 'bookings:write',
    from: ['booked'],
    to: 'cancelled',
    emits: 'booking.cancelled',
  })

interface Stay {
  readonly room_id: number
  readonly arrives: string
  readonly departs: string
}

type Tx = Pick<ServiceTx, 'sql'>

async function refuseOverlap(tx: Tx, stay: Stay & { id: string }): Promise<void> {
  const { id, room_id, arrives, departs } = stay
  const other = await tx.sql.get(sql`SELECT id FROM ${table(bookings)}
    WHERE room_id = ${room_id} AND id <> ${id} AND status <> 'cancelled'
    AND arrives < ${departs} AND departs > ${arrives}`)
  if (other) throw new Failure('conflict', 'The room is booked on one of these nights.')
}

const NIGHTS_MAX = 90

/** Returns the sum of the rates. Tables store decimals in units of their last digit: cents. */
async function totalOf(tx: Tx, stay: Stay): Promise<string> {
  const { room_id, arrives, departs } = stay
  const [first, end] = [Date.parse(arrives), Date.parse(departs)]
  if ((end - first) / DAY_MS > NIGHTS_MAX) {
    throw new Failure('conflict', `A booking has at most ${NIGHTS_MAX} nights.`)
  }
  const newestFirst = await tx.sql.all<{ from_night: string; price: number }>(
    sql`SELECT from_night, price FROM ${table(rates)} WHERE room_id = ${room_id}
      AND from_night < ${departs} ORDER BY from_night DESC`,
  )
  let cents = 0
  for (let time = first; time < end; time += DAY_MS) {
    const night = new Date(time).toISOString().slice(0, 10)
    const rate = newestFirst.find(({ from_night }) => from_night <= night)
    if (!rate) throw new Failure('conflict', `The room has no rate for the night of ${night}.`)
    cents += Number(rate.price)
  }
  return (cents / 100).toFixed(2)
}

export const hotel = service({
  name: 'Hotel',
  versions: { v1: { released: '2025-06-01' }, v2: { released: '2026-06-01' } },
  resources: [rooms, rates, guests, bookings],
})
