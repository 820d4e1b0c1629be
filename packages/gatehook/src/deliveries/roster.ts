/** The endpoints and customers the engine has in memory: who has work, or had some lately. */
import { Customer, Endpoint } from './endpoint.ts'

export class Roster {
  readonly #endpoints = new Map<number, Endpoint>()
  readonly #customers = new Map<number, Customer>()

  get size(): number {
    return this.#endpoints.size
  }

  get endpoints(): Iterable<Endpoint> {
    return this.#endpoints.values()
  }

  get customers(): Iterable<Customer> {
    return this.#customers.values()
  }

  find(no: number): Endpoint | undefined {
    return this.#endpoints.get(no)
  }

  /** The endpoint of this number, made when it is new. */
  endpoint(no: number, customerNo: number): Endpoint {
    let endpoint = this.#endpoints.get(no)
    if (endpoint) return endpoint
    let customer = this.#customers.get(customerNo)
    if (!customer) this.#customers.set(customerNo, (customer = new Customer(customerNo)))
    endpoint = new Endpoint(no, customer)
    this.#endpoints.set(no, endpoint)
    customer.endpoints.add(endpoint)
    return endpoint
  }

  /** Lets go of who has nothing to do; `keep` has a say. */
  forget(now: number, elapsedMs: number, keep: (endpoint: Endpoint) => boolean): void {
    for (const endpoint of this.#endpoints.values()) {
      if (!endpoint.isIdle(now) || keep(endpoint)) continue
      this.#endpoints.delete(endpoint.no)
      endpoint.owner.endpoints.delete(endpoint)
    }
    for (const customer of this.#customers.values()) {
      if (customer.isIdle(elapsedMs)) this.#customers.delete(customer.no)
    }
  }
}
