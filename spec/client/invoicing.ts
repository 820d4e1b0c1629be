/** Types of Invoicing v2. `gatehook client types` writes them. */

export type Customer = {
  readonly id: string
  readonly name: string
  readonly email: string
  readonly created_at: string
}

export type CustomerCreate = {
  readonly name: string
  readonly email: string
}

export type CustomerPatch = {
  readonly name?: string
  readonly email?: string
}

export type Product = {
  readonly id: string
  readonly name: string
  readonly unit_price: number
  readonly tax_percent: number
  readonly active: boolean
}

export type ProductCreate = {
  readonly name: string
  readonly unit_price: number
  readonly tax_percent?: number
  readonly active?: boolean
}

export type ProductPatch = {
  readonly name?: string
  readonly unit_price?: number
  readonly tax_percent?: number
  readonly active?: boolean
}

export type Invoice = {
  readonly id: string
  readonly customer_id: string
  readonly number: string | null
  readonly status: 'draft' | 'open' | 'overdue' | 'paid' | 'void'
  readonly currency: string
  readonly lines: readonly {
    readonly product_id: string
    readonly quantity: number
    readonly unit_price: number
    readonly tax_percent: number
  }[]
  readonly total: number
  readonly paid: number
  readonly credited: number
  readonly reserved?: number
  readonly due: number
  readonly due_on: string | null
  readonly finalized_at: string | null
  readonly note: string | null
  readonly internal_note?: string
  readonly created_at: string
  readonly updated_at: string
}

export type InvoiceObject = {
  readonly id: string
  readonly customer_id: string
  readonly number: string | null
  readonly status: 'draft' | 'open' | 'overdue' | 'paid' | 'void'
  readonly currency: string
  readonly lines: readonly {
    readonly product_id: string
    readonly quantity: number
    readonly unit_price: number
    readonly tax_percent: number
  }[]
  readonly total: number
  readonly paid: number
  readonly credited: number
  readonly due: number
  readonly due_on: string | null
  readonly finalized_at: string | null
  readonly note: string | null
  readonly created_at: string
  readonly updated_at: string
}

export type InvoiceCreate = {
  readonly customer_id: string
  readonly currency?: string
  readonly lines: readonly {
    readonly product_id: string
    readonly quantity: number
    readonly unit_price?: number
    readonly tax_percent?: number
  }[]
  readonly due_on?: string | null
  readonly note?: string | null
  readonly internal_note?: string
}

export type InvoicePatch = {
  readonly customer_id?: string
  readonly currency?: string
  readonly lines?: readonly {
    readonly product_id: string
    readonly quantity: number
    readonly unit_price?: number
    readonly tax_percent?: number
  }[]
  readonly due_on?: string | null
  readonly note?: string | null
  readonly internal_note?: string
}

export type Payment = {
  readonly id: string
  readonly invoice_id: string
  readonly amount: number
  readonly refunded: number
  readonly status: 'pending' | 'succeeded' | 'declined'
  readonly charge_id?: string | null
  readonly reason: string | null
  readonly created_at: string
}

export type PaymentObject = {
  readonly id: string
  readonly invoice_id: string
  readonly amount: number
  readonly refunded: number
  readonly status: 'pending' | 'succeeded' | 'declined'
  readonly reason: string | null
  readonly created_at: string
}

export type CreditNote = {
  readonly id: string
  readonly invoice_id: string
  readonly number: string | null
  readonly amount: number
  readonly reason: string
  readonly refund_of: string | null
  readonly refund_id: string | null
  readonly created_at: string
}

export type CreditNoteCreate = {
  readonly invoice_id: string
  readonly amount: number
  readonly reason: string
  readonly refund_of?: string | null
}

export type CreditNotePatch = {
  readonly reason?: string
}

/** For `createClient<Types>` of gatehook-client. */
export interface Types {
  readonly version: 'v2'
  readonly resources: {
    readonly customers: {
      readonly row: Customer
      readonly create: CustomerCreate
      readonly update: CustomerPatch
      readonly deletes: false
      readonly filters: {
        readonly name: string
        readonly email: string
      }
      readonly prefixes: 'name'
      readonly parts: never
      readonly sorts: 'name' | 'created_at'
      readonly searches: true
      readonly restores: false
      readonly relations: Record<never, never>
      readonly actions: Record<never, never>
    }
    readonly products: {
      readonly row: Product
      readonly create: ProductCreate
      readonly update: ProductPatch
      readonly deletes: false
      readonly filters: {
        readonly active: boolean
      }
      readonly prefixes: never
      readonly parts: never
      readonly sorts: 'name'
      readonly searches: false
      readonly restores: false
      readonly relations: Record<never, never>
      readonly actions: Record<never, never>
    }
    readonly invoices: {
      readonly row: Invoice
      readonly create: InvoiceCreate
      readonly update: InvoicePatch
      readonly deletes: false
      readonly filters: {
        readonly customer_id: string
        readonly number: string | null
        readonly status: 'draft' | 'open' | 'overdue' | 'paid' | 'void'
        readonly due_on: string | null
        readonly 'customer.name': string
      }
      readonly prefixes: never
      readonly parts: never
      readonly sorts: 'status' | 'total' | 'due_on' | 'created_at' | 'customer.name'
      readonly searches: true
      readonly restores: false
      readonly relations: {
        readonly customer: {
          readonly resource: 'customers'
          readonly nullable: false
        }
        readonly 'lines.product': {
          readonly resource: 'products'
          readonly nullable: false
        }
      }
      readonly actions: {
        readonly finalize: Record<never, never>
        readonly void: Record<never, never>
      }
    }
    readonly payments: {
      readonly row: Payment
      readonly create: never
      readonly update: never
      readonly deletes: false
      readonly filters: {
        readonly invoice_id: string
        readonly status: 'pending' | 'succeeded' | 'declined'
        readonly 'invoice.customer.name': string
      }
      readonly prefixes: never
      readonly parts: never
      readonly sorts: 'created_at'
      readonly searches: false
      readonly restores: false
      readonly relations: {
        readonly invoice: {
          readonly resource: 'invoices'
          readonly nullable: false
        }
      }
      readonly actions: Record<never, never>
    }
    readonly credit_notes: {
      readonly row: CreditNote
      readonly create: CreditNoteCreate
      readonly update: CreditNotePatch
      readonly deletes: false
      readonly filters: {
        readonly invoice_id: string
        readonly 'invoice.customer.name': string
      }
      readonly prefixes: never
      readonly parts: never
      readonly sorts: 'created_at'
      readonly searches: false
      readonly restores: false
      readonly relations: {
        readonly invoice: {
          readonly resource: 'invoices'
          readonly nullable: false
        }
        readonly refund_of: {
          readonly resource: 'payments'
          readonly nullable: true
        }
      }
      readonly actions: Record<never, never>
    }
  }
  readonly routes: {
    readonly 'POST /invoices/:id/payments': {
      readonly params: 'id'
      readonly query: Record<never, never>
      readonly input: {
        readonly amount: number
        readonly source: string
      }
      readonly output: Payment
    }
    readonly 'GET /reports/receivables': {
      readonly params: never
      readonly query: {
        readonly currency?: string
      }
      readonly input: Record<never, never>
      readonly output: {
        readonly as_of: string
        readonly customers: readonly {
          readonly id: string
          readonly name: string
          readonly open: number
          readonly due: number
        }[]
      }
    }
    readonly 'GET /reports/revenue': {
      readonly params: never
      readonly query: {
        readonly currency?: string
        readonly since?: string
      }
      readonly input: Record<never, never>
      readonly output: {
        readonly products: readonly {
          readonly id: string
          readonly name: string
          readonly sold: number
          readonly net: number
        }[]
      }
    }
  }
  readonly events: {
    readonly 'customer.created': Customer
    readonly 'customer.updated': Customer
    readonly 'product.created': Product
    readonly 'product.updated': Product
    readonly 'invoice.created': InvoiceObject
    readonly 'invoice.updated': InvoiceObject
    readonly 'invoice.finalized': InvoiceObject
    readonly 'invoice.voided': InvoiceObject
    readonly 'invoice.overdue': InvoiceObject
    readonly 'invoice.paid': InvoiceObject
    readonly 'payment.created': PaymentObject
    readonly 'payment.succeeded': PaymentObject
    readonly 'payment.declined': PaymentObject
    readonly 'credit_note.created': CreditNote
    readonly 'credit_note.updated': CreditNote
    readonly 'invoice.reminder': InvoiceObject
  }
  readonly failures: {
    readonly amount_exceeds_due: {
      readonly due: number
    }
    readonly payment_declined: {
      readonly payment_id: string
      readonly reason: string | null
    }
  }
}
