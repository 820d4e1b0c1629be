/** The baseline of the engine: undici alone, 20 connections, the same signed bytes. */
import { Pool } from 'undici'
import { signatureHeaders } from '../../packages/gatehook/src/outbound/deliveries/signature.ts'
import { body, SECRET } from './common.ts'

const CONNECTIONS = 20

export async function runBare(port: number, count: number): Promise<void> {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: CONNECTIONS, pipelining: 1 })
  const text = body()
  let started = 0
  let responses = 0
  await new Promise<void>((resolve, reject) => {
    const sendNext = () => {
      if (started++ >= count) return
      const bytes = Buffer.from(text)
      const headers = signatureHeaders({
        secrets: [SECRET],
        id: 'evt_0VbZy3Jl000olBDVikSx3M',
        type: 'order.created',
        deliveryId: `dlv_${started}`,
        attempt: 1,
        atS: Math.floor(Date.now() / 1000),
        body: bytes,
        userAgent: 'bench',
      })
      pool.dispatch(
        { path: '/', method: 'POST', headers, body: bytes },
        {
          onRequestStart() {},
          onResponseStart() {},
          onResponseData() {},
          onResponseEnd() {
            if (++responses === count) resolve()
            sendNext()
          },
          onResponseError: (_, error) => reject(error),
        },
      )
    }
    for (let n = 0; n < CONNECTIONS; n++) sendNext()
  })
  await pool.close()
}
