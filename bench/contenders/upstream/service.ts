/** Row 28: a route that `application.ts` answers. */
import { f, fields, service } from 'gatehook'
import { PORT } from './port.ts'

export const api = service({
  name: 'Upstream',
  versions: { v1: { released: '2026-01-01' }, v2: { released: '2026-06-01' } },
  resources: [],
})
  .upstream('application', { url: `http://127.0.0.1:${PORT}` })
  .forward({
    method: 'GET',
    path: '/hello',
    to: 'application',
    upstreamPath: '/',
    scope: 'hello:read',
    output: fields({ hello: f.string() }),
  })
  .forward({
    method: 'GET',
    path: '/bytes',
    to: 'application',
    upstreamPath: '/',
    scope: 'hello:read',
  })
