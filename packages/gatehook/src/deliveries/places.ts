/**
 * Who may have how many sockets: each customer some for sure, more while others leave them, and how
 * many quick ones at a time (`pace.ts`). Counts only; real time comes in.
 */
import type { Customer, Endpoint } from './endpoint.ts'
import { Pace, type Start } from './pace.ts'

/** POSTs at a time, over all customers, while each has had its share. */
const IN_FLIGHT_MAX = 1_024
/** So many a customer may always have, however many sockets others hold. */
const IN_FLIGHT_SURE = 20

/** Bytes of large bodies in flight, of one customer and of all: hanging receivers hold them. */
const CUSTOMER_BYTES_MAX = 8_388_608
const BYTES_MAX = 33_554_432

export class Places {
  readonly #pace = new Pace()
  #taken = 0
  #largeBytes = 0
  #busyCustomers = 0

  get taken(): number {
    return this.#taken
  }

  /** False: nobody may start. */
  hasAny(elapsedMs: number): boolean {
    return this.#pace.admits(elapsedMs, true)
  }

  /** Shares of the sockets matter only when half of them are in use. */
  hasFor(customer: Customer, elapsedMs: number): boolean {
    if (!this.#pace.admits(elapsedMs, customer.inFlight === 0)) return false
    if (customer.inFlight < IN_FLIGHT_SURE) return true
    if (this.#taken >= IN_FLIGHT_MAX) return false
    if (this.#taken < IN_FLIGHT_MAX / 2) return true
    return customer.inFlight < IN_FLIGHT_MAX / (this.#busyCustomers + 1)
  }

  /** An endpoint without an attempt in flight may always start one, whatever the others hold. */
  hasRoomFor({ owner, inFlight, nextLargeBytes: bytes }: Endpoint): boolean {
    if (bytes === 0 || inFlight === 0) return true
    return owner.largeBytes + bytes <= CUSTOMER_BYTES_MAX && this.#largeBytes + bytes <= BYTES_MAX
  }

  take(customer: Customer, elapsedMs: number, largeBytes: number): Start {
    customer.largeBytes += largeBytes
    this.#largeBytes += largeBytes
    if (customer.inFlight++ === 0) this.#busyCustomers += 1
    this.#taken += 1
    return this.#pace.started(elapsedMs)
  }

  free(customer: Customer, start: Start, elapsedMs: number, largeBytes: number): void {
    customer.largeBytes -= largeBytes
    this.#largeBytes -= largeBytes
    if (--customer.inFlight === 0) this.#busyCustomers -= 1
    this.#taken -= 1
    this.#pace.ended(start, elapsedMs)
  }
}
