/**
 * The process of the load generator: receives lists of requests and runs by IPC, sends outcomes.
 * `drive.ts` generates the load; `load.ts` is the client.
 */
import { drive, type Outcome, type RunOptions, type Wire } from './drive.ts'

export type Order =
  | { readonly kind: 'list'; readonly list: string; readonly requests: readonly ListedRequest[] }
  | { readonly kind: 'run'; readonly list: string; readonly port: number; options: RunOptions }

export interface ListedRequest {
  /** The whole request as text. */
  readonly text: string
  readonly bodiless: boolean
  readonly renewed: { readonly value: string; readonly member: string } | undefined
}

export type Reply =
  | { readonly number: number; readonly outcome: Outcome | undefined }
  | { readonly number: number; readonly error: string }

/** A run continues in the list where the previous run stopped. */
const lists = new Map<string, { requests: Wire[]; next: number }>()

process.on('message', async ({ number, order }: { number: number; order: Order }) => {
  try {
    process.send!({ number, outcome: await carryOut(order) })
  } catch (error) {
    process.send!({ number, error: String(error) })
  }
})
process.on('disconnect', () => process.exit())

function wireOf({ text, bodiless, renewed }: ListedRequest): Wire {
  const bytes = Buffer.from(text, 'utf8')
  if (!renewed) return { bytes, bodiless }
  const { value, member } = renewed
  const place = { at: bytes.indexOf(value), length: Buffer.byteLength(value) }
  return { bytes, bodiless, renewed: { ...place, before: Buffer.from(`"${member}":"`) } }
}

async function carryOut(order: Order): Promise<Outcome | undefined> {
  if (order.kind === 'list') {
    const requests = order.requests.map(wireOf)
    lists.set(order.list, { requests, next: 0 })
    return undefined
  }
  const list = lists.get(order.list)!
  const { next, ...outcome } = await drive(order.port, list.requests, list.next, order.options)
  list.next = next
  return outcome
}
