/** §9.12: each reader of deliveries returns also those that wait in their events, without rows. */
import assert from 'node:assert/strict'
import { type Caller, eachService, type TestApp } from '../../../../test/rig/service.ts'
import { backlogStore } from '../../src/outbound/deliveries/backlog-store.ts'
import { healthRank } from '../../src/outbound/deliveries/outcome-summary.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { toolsOf } from '../mcp/rig.ts'
import { openPortal } from '../portal/rig.ts'
import { beginBacklog, holdBack } from '../webhooks/backlog.ts'
import { LOCAL, openHook, pay, register } from '../webhooks/hook.ts'

const PAYMENTS = { events: ['payment.succeeded'] }

const idsOf = (data: readonly { readonly id: string }[]) => data.map(({ id }) => id)

const logOf = async (own: Pick<Caller, 'get'>, id: string): Promise<string[]> =>
  idsOf((await own.get(`/webhooks/${id}/deliveries?limit=100`)).body.data)

/** Follows the cursors of a list; returns the ids of each page, and the last page. */
async function walk(own: Caller, path: string, onPage = async () => {}) {
  const pages: string[][] = []
  for (let cursor = ''; ; ) {
    const { status, body, text } = await own.get(`${path}${cursor}`)
    assert.equal(status, 200, text)
    pages.push(idsOf(body.data))
    if (!body.has_more) return { ids: pages.flat(), pages, last: body }
    cursor = `&cursor=${body.next_cursor}`
    await onPage()
  }
}

/** Two registrations of one customer, of which one waits in events, and one of another customer. */
async function openRegistrations(service: TestApp, t: Parameters<typeof openHook>[0]) {
  const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  const hook = await openHook(t)
  const customer = (await admin.post('/admin/customers', { name: 'Other' })).body.id
  const other = service.as(await service.key({ customer, mode: 'live' }))
  const [rows, waiting, others] = await Promise.all(
    [service, service, other].map(async (own) => {
      const { status, body, text } = await register(own, hook, PAYMENTS)
      assert.equal(status, 201, text)
      return body.id as string
    }),
  )
  await service.patch(`/webhooks/${rows}`, { active: false })
  const key = await holdBack(service, waiting!)
  await holdBack(service, others!, other)
  return { admin, customer, other, key, rows: rows!, waiting: waiting!, others: others! }
}

eachService(
  'operators list the deliveries of all customers by id, with or without rows',
  async (service, t) => {
    const { admin, customer, other, ...registered } = await openRegistrations(service, t)
    const { rows, waiting, others, key } = registered
    const before = new Date().toISOString()
    const events: string[] = []
    for (const own of [service, other, service, other, service]) {
      events.push((await pay(own, 1)).body.id)
    }
    const own = [...(await logOf(service, rows)), ...(await logOf(service, waiting))].sort()
    const foreign = await logOf(other, others)
    const all = [...own, ...foreign].sort()
    assert.deepEqual([own.length, foreign.length], [6, 2])
    const expected: readonly (readonly [query: string, ids: readonly string[]])[] = [
      ['sort=id', all],
      ['sort=-id', all.toReversed()],
      ['mode=test', own],
      ['mode=live&state=paused', foreign],
      ['state=paused', all],
      ['state=pending', []],
      ['state=delivered', []],
      ['state=failed', []],
      ['customer=default&mode=test', own],
      ['customer=default&mode=test&state=paused', own],
      [`customer=${customer}`, foreign],
      [`webhook=${waiting}`, await logOf(service, waiting)],
      [`event_id=${events[0]}`, own.slice(0, 2)],
      ['event_type=payment.succeeded', all],
      ['event_type=order.paid', []],
      [`from=${before}`, all],
      [`to=${before}`, []],
    ]
    for (const [query, ids] of expected) {
      const { status, body, text } = await admin.get(`/admin/deliveries?${query}`)
      assert.equal(status, 200, text)
      assert.deepEqual(idsOf(body.data), ids, query)
    }
    for (const [sort, ids] of [
      ['id', all],
      ['-id', all.toReversed()],
    ] as const) {
      const path = `/admin/deliveries?sort=${sort}`
      const { ids: walked, pages, last } = await walk(admin, `${path}&limit=3`)
      assert.deepEqual(walked, ids)
      const back = (await admin.get(`${path}&limit=3&cursor=${last.cursors.prev}`)).body
      assert.deepEqual(idsOf(back.data), pages.at(-2))
      const paged = await admin.get(`${path}&pagination=page&page=2&per_page=3`)
      assert.deepEqual(idsOf(paged.body.data), ids.slice(3, 6))
      assert.equal(paged.headers['x-total-count'], String(all.length))
    }
    const filled = await walk(admin, '/admin/deliveries?limit=3&sort=-id', async () => {
      await backlogStore(service.app.db).fillBacklog(key)
    })
    assert.deepEqual(filled.ids, all.toReversed(), 'deliveries get rows during a walk')
  },
  LOCAL,
)

/** Returns the JSON of a value without what differs between deliveries and registrations. */
function plain(value: unknown, { id, tag }: { readonly id: string; readonly tag: string }): string {
  return JSON.stringify(value)
    .replaceAll(id, 'ID')
    .replaceAll(tag, 'TAG')
    .replace(/whsec_…[^"]+/, 'SECRET')
    .replace(/"\d{4}-\d\d-\d\dT[\d:.]+Z"/g, '"TIME"')
}

type Response = Promise<{ readonly body: unknown; readonly status?: number }>

eachService(
  'each reader returns a waiting delivery as it returns one with a row',
  async (service, t) => {
    const { rows, waiting } = await openRegistrations(service, t)
    const portal = await openPortal(service)
    const session = await portal.session('cus_default', { mode: 'test' })
    const { operator: admin } = portal
    const tool = toolsOf((message) => service.post('/mcp', message))
    const event = (await pay(service, 1)).body.id
    await pay(service, 2)
    const ofRegistration = (data: readonly { id: string; webhook_id?: string }[], id: string) =>
      data.filter((item) => item.id === id || item.webhook_id === id)
    const since = '2020-01-01T00:00:00Z'
    const readers: Record<string, (id: string, delivery: string) => Response> = {
      log: (id) => service.get(`/webhooks/${id}/deliveries`),
      async page(id) {
        const path = `/webhooks/${id}/deliveries?pagination=page&per_page=1&page=2`
        const { body, headers } = await service.get(path)
        return { body: { ...body, total: headers['x-total-count'] } }
      },
      delivery: (_, delivery) => service.get(`/deliveries/${delivery}`),
      request: (_, delivery) => service.get(`/deliveries/${delivery}/request`),
      portal: (id) => session.get(`/portal/api/webhooks/${id}/deliveries`),
      'delivery in the portal': (_, delivery) => session.get(`/portal/api/deliveries/${delivery}`),
      async 'health in the portal'(id) {
        const { webhooks } = (await session.get('/portal/api/health')).body
        return { body: ofRegistration(webhooks, id) }
      },
      async agents(id) {
        const input = { operation: 'list_deliveries', parameters: { id } }
        return { body: (await tool('read_operation', input)).value.untrusted.data }
      },
      'delivery of any customer': (_, delivery) => admin.get(`/admin/deliveries/${delivery}`),
      registration: (id) => admin.get(`/admin/webhooks/${id}`),
      health: (id) => admin.get(`/admin/webhooks/${id}/health`),
      async event(id) {
        const { body } = await admin.get(`/admin/events/${event}?expand=deliveries`)
        return { body: ofRegistration(body.deliveries.data, id) }
      },
      search: (_, delivery) => admin.get(`/admin/search?q=${delivery.slice(0, -1)}`),
      async export(_, delivery) {
        const { text } = await admin.get('/admin/customers/cus_default/export')
        return { body: { isFound: text.includes(delivery) } }
      },
      async attention(id) {
        const state = sql`UPDATE gh_webhooks SET active = 1, health = ${healthRank('slow')}
          WHERE id = ${id}`
        await service.app.db.write((tx) => tx.run(state))
        const { data } = (await admin.get('/admin/attention')).body
        const item = data.find(({ subject }: { subject: { id: string } }) => subject.id === id)
        return { body: item.facts }
      },
      recovery: (id) => service.post(`/webhooks/${id}/recover`, { since }),
      replay: (id) => service.post(`/webhooks/${id}/replay`, { since }),
      resend: (_, delivery) => service.post(`/deliveries/${delivery}/resend`),
    }
    const { body: system } = await admin.get('/admin/system')
    assert.equal(system.queue.waiting, 4)
    const { data } = (await admin.get('/admin/events?delivery_state=paused&limit=1')).body
    assert.deepEqual([data[0].deliveries.total, data[0].deliveries.paused], [2, 2])
    for (const [name, read] of Object.entries(readers)) {
      const [expected, actual] = await Promise.all(
        [rows, waiting].map(async (id) => {
          const delivery = (await logOf(service, id))[0]!
          const { status = 200, body } = await read(id, delivery)
          assert.ok(status < 300, `${name}: ${JSON.stringify(body)}`)
          const { next_cursor: _, cursors: __, ...rest } = body as Record<string, unknown>
          return plain(rest, { id, tag: delivery.slice(-8) })
        }),
      )
      assert.equal(actual, expected, name)
      assert.notEqual(actual, '{}', name)
    }
  },
  LOCAL,
)

eachService(
  'of two registrations that are behind, each has all of its deliveries',
  async (service, t) => {
    const hook = await openHook(t)
    const ids: string[] = []
    for (let n = 0; n < 2; n++) {
      ids.push((await register(service, hook, PAYMENTS)).body.id)
      await beginBacklog(service, ids[n]!)
    }
    const events: string[] = []
    for (let n = 0; n < 3; n++) events.push((await pay(service, n)).body.id)
    for (const id of ids) {
      const { data } = (await service.get(`/webhooks/${id}/deliveries`)).body
      assert.deepEqual(
        data.map(({ event_id: event }: { event_id: string }) => event),
        events,
      )
    }
    const count = await service.app.db.get(sql`SELECT count(*) AS n FROM gh_deliveries`)
    assert.equal(Number(count!.n), 3)
  },
  LOCAL,
)
