/**
 * The connections of PostgreSQL for transactions, by customer. A transaction can wait for a row
 * that another one has locked, or take long, and has its connection meanwhile. So a customer uses a
 * part of the connections, and customers that wait take turns (decision 0068). Contains no SQL.
 */
import { createTurns, type TurnKey } from '../../kernel/turns.ts'

/** The part of the connections that the transactions of one customer use at once. */
const CUSTOMER_PART = 0.6
/** The part that stays free for the engine itself: sign-ins, request limits, background work. */
const ENGINE_PART = 0.2
/** Transactions of a customer that wait; further ones are rejected with 503. */
const WAITING_MAX = 10_000

/** How many connections transactions of customers use at once: of all customers, and of one. */
export function connectionShares(size: number): {
  readonly customers: number
  readonly customer: number
} {
  const customers = size - Math.floor(size * ENGINE_PART)
  const customer = Math.min(Math.ceil(size * CUSTOMER_PART), customers - 1)
  return { customers, customer: Math.max(1, customer) }
}

/** Runs `body` when it is the turn of the customer; that of the engine itself runs at once. */
export type TakeConnection = <T>(
  customer: TurnKey | undefined,
  body: () => Promise<T>,
) => Promise<T>

export function createConnectionTurns(size: number): TakeConnection {
  const { customers, customer: perKey } = connectionShares(size)
  const turns = createTurns(customers, { perKey, waitingPerKey: WAITING_MAX })
  return (customer, body) => (customer === undefined ? body() : turns(customer, body))
}
