/** A receiver of traces: an HTTP server that parses OTLP in JSON. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'

export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly name: string
  /** `SPAN_KIND_…` of OTLP: 1 internal, 2 server, 3 client, 4 producer. */
  readonly kind: number
  readonly attributes: Readonly<Record<string, unknown>>
  /** 2 for an error. */
  readonly status: number
  readonly service: string
}

interface OtlpAttribute {
  readonly key: string
  readonly value: Readonly<Record<string, unknown>>
}

const attributesOf = (list: readonly OtlpAttribute[]): Record<string, unknown> =>
  Object.fromEntries(list.map(({ key, value }) => [key, Object.values(value)[0]]))

export interface OtlpReceiver {
  readonly url: string
  readonly spans: readonly ReceivedSpan[]
  readonly paths: readonly string[]
}

export async function openOtlpReceiver(t: TestContext): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = []
  const paths: string[] = []
  const server = createServer(async (request, response) => {
    paths.push(`${request.method} ${request.url} ${request.headers['content-type']}`)
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { resourceSpans } = JSON.parse(Buffer.concat(chunks).toString())
    for (const { resource, scopeSpans } of resourceSpans) {
      const service = String(attributesOf(resource.attributes)['service.name'])
      for (const { spans: list } of scopeSpans) {
        for (const span of list) {
          spans.push({
            ...span,
            attributes: attributesOf(span.attributes),
            status: span.status.code,
            service,
          })
        }
      }
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onEnd(t, () => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans, paths }
}
