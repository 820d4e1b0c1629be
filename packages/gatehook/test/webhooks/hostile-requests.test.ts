/** §10.4: invalid requests to the paths of webhooks get a 4xx with an error code. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { LOCAL, openHook, pay, register } from './hook.ts'

const deep = `${'['.repeat(5000)}${']'.repeat(5000)}`

/** JSON texts of values, for every member. */
const values = [
  ...['null', 'true', '0', '-1', '1e400', '1e2', '9007199254740993', '""', '" "', '"\\u0000"'],
  ...['"\\ud800"', '"\\u202e"', '[]', '{}', '[null]', '[[]]', '{"toString":1}', '{"__proto__":{}}'],
  ...['"2026-13-45T99:99:99Z"', '"-271821-04-20T00:00:00Z"', '"+275760-09-13"', '"0000-01-01"'],
  ...['"http://"', '"https://\\u0000"', '"https://[::1"', '"https://a..b/"', '"https://xn--/"'],
  ...['"https://1.2.3.4.5"', '"https://0x"', '"javascript:1"', '"//x"', '"https:/x"'],
  ...[`"${'a'.repeat(70_000)}"`, deep],
]

const members: Readonly<Record<string, readonly string[]>> = {
  '/webhooks': ['url', 'events', 'description', 'api_version', 'active', 'constructor'],
  '/webhooks/ID/test': ['event_type'],
  '/webhooks/ID/rotate-secret': ['overlap_seconds', 'force'],
  '/webhooks/ID/recover': ['since', 'event_types'],
  '/webhooks/ID/replay': ['since', 'event_types'],
  '/deliveries/DLV/resend': ['force'],
  '/events': ['type', 'object'],
}
const valid: Readonly<Record<string, string>> = {
  '/webhooks': '"url":"HOOK","events":["*"]',
  '/webhooks/ID/test': '"event_type":"order.paid"',
  '/webhooks/ID/recover': '"since":"2026-01-01"',
  '/webhooks/ID/replay': '"since":"2026-01-01"',
  '/events': '"type":"payment.succeeded","object":{}',
}

eachService(
  'no body, path or query gets a 500',
  async (service, t) => {
    const hook = await openHook(t)
    const { id } = (await register(service, hook)).body
    await service.patch(`/webhooks/${id}`, { active: false })
    await pay(service, 1)
    const [{ id: delivery }] = (await service.get(`/webhooks/${id}/deliveries`)).body.data
    const filled = (text: string) =>
      text.replaceAll('ID', id).replace('DLV', delivery).replace('HOOK', hook.url)
    for (const [path, names] of Object.entries(members)) {
      for (const name of names) {
        for (const value of values) {
          const rest = (valid[path] ?? '').replace(
            new RegExp(`,?"${name}":("[^"]*"|\\[.*?\\]|\\{\\})`),
            '',
          )
          const body = filled(
            `{${[`"${name}":${value}`, rest.replace(/^,/, '')].filter(Boolean).join(',')}}`,
          )
          const reply = await service.post(filled(path), body)
          assert.ok(reply.status < 500, `${path} ${body.slice(0, 200)}: ${reply.text}`)
          if (reply.status >= 400) assert.match(reply.body.error, /^[a-z_]+$/)
        }
      }
    }
    const queries = [
      'state=%00',
      'state[in]=paused,',
      'event_id[ne]=x',
      'created_at[gt]=x',
      'sort=state',
    ]
    const more = ['limit=0', 'cursor=x', 'fields=secret', 'url[in]=,', 'active=2', 'created_at=9e9']
    for (const query of [...queries, ...more]) {
      for (const path of ['/webhooks', `/webhooks/${id}/deliveries`, '/events', '/events/stream']) {
        const { status, text } = await service.get(`${path}?${query}`)
        assert.ok(status >= 200 && status < 500, `${path}?${query}: ${text}`)
      }
    }
    const ids = [
      '%F0%9F%92%A9',
      "x'--",
      '%5C',
      '%25',
      'wh_%E0%80',
      'undefined',
      '-1',
      'a'.repeat(4000),
    ]
    for (const hostileId of ids) {
      for (const path of [
        `/webhooks/${hostileId}`,
        `/deliveries/${hostileId}`,
        `/webhooks/${hostileId}/deliveries`,
      ]) {
        const { status } = await service.get(path)
        assert.ok(status === 404 || status === 400, `${path}: ${status}`)
      }
    }
  },
  LOCAL,
)
