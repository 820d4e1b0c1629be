/** Types of x v10. `gatehook client types` writes them. */

export type Person = {
  readonly id: number
  readonly email: string
  readonly born: string | null
  readonly deleted_at: string | null
}

export type Bill = {
  readonly id: string
  readonly person_id: number | null
  readonly payer: number
  readonly status: 'open' | 'paid'
  readonly ends: string
  readonly margin?: number
  readonly labels: Readonly<Record<string, string>>
  readonly data: unknown
  readonly lines: readonly {
    readonly at: string
    readonly n: number
  }[]
  readonly place: {
    readonly city: string
    readonly zip: string | null
  }
  readonly total: number
  readonly wait: string
}

export type BillObject = {
  readonly id: string
  readonly person_id: number | null
  readonly payer: number
  readonly status: 'open' | 'paid'
  readonly ends: string
  readonly labels: Readonly<Record<string, string>>
  readonly data: unknown
  readonly lines: readonly {
    readonly at: string
    readonly n: number
  }[]
  readonly place: {
    readonly city: string
    readonly zip: string | null
  }
  readonly total: number
  readonly wait: string
}

export type BillCreate = {
  readonly person_id: number | null
  readonly payer: number
  readonly ends: string
  readonly pin: string
  readonly margin?: number
  readonly labels?: Readonly<Record<string, string>>
  readonly data?: unknown
  readonly lines: readonly {
    readonly at: string
    readonly n?: number
  }[]
  readonly place: {
    readonly city: string
    readonly zip?: string | null
  }
  readonly wait: string
}

export type BillPatch = {
  readonly person_id?: number | null
  readonly payer?: number
  readonly pin?: string
  readonly margin?: number
  readonly labels?: Readonly<Record<string, string | null>>
  readonly data?: unknown
  readonly lines?: readonly {
    readonly at: string
    readonly n?: number
  }[]
  readonly place?: {
    readonly city?: string
    readonly zip?: string | null
  }
  readonly wait?: string
}

/** For `createClient<Types>` of gatehook-client. */
export interface Types {
  readonly version: 'v10'
  readonly resources: {
    readonly people: {
      readonly row: Person
      readonly create: never
      readonly update: never
      readonly deletes: true
      readonly filters: {
        readonly email: string
      }
      readonly prefixes: never
      readonly parts: 'email'
      readonly sorts: never
      readonly searches: true
      readonly restores: true
      readonly relations: Record<never, never>
      readonly actions: Record<never, never>
    }
    readonly bills: {
      readonly row: Bill
      readonly create: BillCreate
      readonly update: BillPatch
      readonly deletes: false
      readonly filters: {
        readonly status: 'open' | 'paid'
        readonly ends: string
        readonly margin: number
        readonly labels: Readonly<Record<string, string>>
      }
      readonly prefixes: never
      readonly parts: never
      readonly sorts: 'id' | 'status' | 'ends' | 'margin'
      readonly searches: false
      readonly restores: false
      readonly relations: {
        readonly person: {
          readonly resource: 'people'
          readonly nullable: true
        }
        readonly payer: {
          readonly resource: 'people'
          readonly nullable: false
        }
      }
      readonly actions: {
        readonly pay: Record<never, never>
        readonly remind: {
          readonly at: string
          readonly text?: string
        }
      }
    }
  }
  readonly routes: {
    readonly 'POST /bills/:id/parts/:part': {
      readonly params: 'id' | 'part'
      readonly query: {
        readonly since: string
        readonly size?: number
      }
      readonly input: {
        readonly person_id: number | null
        readonly payer: number
        readonly ends: string
        readonly pin: string
        readonly margin?: number
        readonly labels?: Readonly<Record<string, string>>
        readonly data?: unknown
        readonly lines: readonly {
          readonly at: string
          readonly n?: number
        }[]
        readonly place: {
          readonly city: string
          readonly zip?: string | null
        }
        readonly wait: string
      }
      readonly output: {
        readonly bill: Bill
        readonly at: string
        readonly days: readonly string[]
        readonly all: readonly Person[]
      }
    }
    readonly 'GET /report': {
      readonly params: never
      readonly query: Record<never, never>
      readonly input: Record<never, never>
      readonly output: string
    }
    readonly 'PUT /photos/:id': {
      readonly params: 'id'
      readonly query: Record<never, never>
      readonly input: {
        readonly media: 'image/png' | 'image/jpeg'
        readonly body: Uint8Array
      }
      readonly output: Uint8Array | string
    }
  }
  readonly events: {
    readonly 'person.deleted': Person
    readonly 'bill.created': BillObject
    readonly 'bill.paid': BillObject
    readonly 'bill.overdue': BillObject
    readonly 'report.ready': {
      readonly url: string
      readonly at: string
    }
    readonly 'payment.succeeded': Readonly<Record<string, unknown>>
    readonly 'payment.failed': Readonly<Record<string, unknown>>
    readonly 'parcel.shipped': {
      readonly code: string
    }
  }
  readonly failures: {
    readonly sold_out: undefined
    readonly declined: undefined
    readonly amount_exceeds_due: {
      readonly due: number
      readonly at: string
    }
  }
}
