/** Names of customers, loaded once and shared by the pages. */
import { signal } from '@preact/signals'
import { get } from '../api.ts'
import type { FilterWord } from '../parts/query-box.tsx'
import type { Page } from './api-shapes.ts'

export interface Customer {
  readonly id: string
  readonly name: string
}

/** Customers that the side bar and completions offer; others are found by their id. */
const MAX_CUSTOMERS = 100

/** The customer of every installation. */
export const DEFAULT_CUSTOMER = 'cus_default'

export const customers = signal<readonly Customer[]>([])

export async function loadCustomers(): Promise<void> {
  const page = await get<Page<Customer>>('/admin/customers', { query: { limit: MAX_CUSTOMERS } })
  customers.value = page.data
}

/** Returns the name of a customer, or its id if it is not one of the loaded ones. */
export const customerName = (id: string): string =>
  customers.value.find((row) => row.id === id)?.name ?? id

/** Returns the choices of a select: the loaded customers, and the selected one. */
export function customerOptions(selected: string): (readonly [id: string, name: string])[] {
  const options = customers.value.map(({ id, name }) => [id, name] as const)
  if (options.some(([id]) => id === selected)) return options
  return [[selected, customerName(selected)], ...options]
}

/** A word of filters that selects a customer. */
export const customerWord = (name: string): FilterWord => ({
  name,
  hint: 'a customer',
  values: customers.value.map((row) => ({ value: row.id, label: row.name })),
})
