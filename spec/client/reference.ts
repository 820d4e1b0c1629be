/** Types of Gatehook reference service v2. `gatehook client types` writes them. */

export type User = {
  readonly id: number
  readonly name: string
  readonly email: string
  readonly created_at: string
}

export type UserCreate = {
  readonly name: string
  readonly email: string
}

export type UserPatch = {
  readonly name?: string
  readonly email?: string
}

export type Order = {
  readonly id: number
  readonly user_id: number
  readonly status: 'pending' | 'paid' | 'shipped' | 'delivered' | 'cancelled'
  readonly amount: number
  readonly currency: string
  readonly note: string | null
  readonly created_at: string
  readonly updated_at: string
}

export type OrderCreate = {
  readonly user_id: number
  readonly amount: number
  readonly currency?: string
  readonly note?: string | null
}

export type OrderPatch = {
  readonly user_id?: number
  readonly amount?: number
  readonly currency?: string
  readonly note?: string | null
}

/** For `createClient<Types>` of gatehook-client. */
export interface Types {
  readonly version: 'v2'
  readonly resources: {
    readonly users: {
      readonly row: User
      readonly create: UserCreate
      readonly update: UserPatch
      readonly deletes: true
      readonly filters: {
        readonly id: number
        readonly name: string
        readonly email: string
        readonly created_at: string
      }
      readonly prefixes: never
      readonly parts: never
      readonly sorts: 'id' | 'name' | 'email' | 'created_at'
      readonly searches: false
      readonly restores: false
      readonly relations: Record<never, never>
      readonly actions: Record<never, never>
    }
    readonly orders: {
      readonly row: Order
      readonly create: OrderCreate
      readonly update: OrderPatch
      readonly deletes: false
      readonly filters: {
        readonly id: number
        readonly user_id: number
        readonly status: 'pending' | 'paid' | 'shipped' | 'delivered' | 'cancelled'
        readonly amount: number
        readonly currency: string
        readonly created_at: string
      }
      readonly prefixes: never
      readonly parts: never
      readonly sorts: 'id' | 'user_id' | 'status' | 'amount' | 'note' | 'created_at' | 'updated_at'
      readonly searches: false
      readonly restores: false
      readonly relations: {
        readonly user: {
          readonly resource: 'users'
          readonly nullable: false
        }
      }
      readonly actions: {
        readonly pay: Record<never, never>
        readonly ship: Record<never, never>
        readonly deliver: Record<never, never>
        readonly cancel: {
          readonly reason?: string | null
        }
      }
    }
  }
  readonly routes: Record<never, never>
  readonly events: {
    readonly 'user.created': User
    readonly 'user.updated': User
    readonly 'user.deleted': User
    readonly 'order.created': Order
    readonly 'order.updated': Order
    readonly 'order.paid': Order
    readonly 'order.shipped': Order
    readonly 'order.delivered': Order
    readonly 'order.cancelled': Order
    readonly 'payment.succeeded': Readonly<Record<string, unknown>>
  }
  readonly failures: Record<never, never>
}
