/** Types of Marketplace v1. `gatehook client types` writes them. */

export type Seller = {
  readonly id: number
  readonly name: string
  readonly email: string
  readonly created_at: string
}

export type SellerCreate = {
  readonly name: string
  readonly email: string
  readonly payout_account?: string | null
}

export type SellerPatch = {
  readonly name?: string
  readonly email?: string
  readonly payout_account?: string | null
}

export type Product = {
  readonly id: number
  readonly seller_id: number
  readonly title: string
  readonly description: string
  readonly tags: readonly string[]
  readonly price: string
  readonly cost?: string
  readonly stock: number
  readonly created_at: string
  readonly updated_at: string
}

export type ProductObject = {
  readonly id: number
  readonly seller_id: number
  readonly title: string
  readonly description: string
  readonly tags: readonly string[]
  readonly price: string
  readonly stock: number
  readonly created_at: string
  readonly updated_at: string
}

export type ProductCreate = {
  readonly seller_id: number
  readonly title: string
  readonly description?: string
  readonly tags?: readonly string[]
  readonly price: string
  readonly cost?: string
  readonly stock?: number
}

export type ProductPatch = {
  readonly seller_id?: number
  readonly title?: string
  readonly description?: string
  readonly tags?: readonly string[]
  readonly price?: string
  readonly cost?: string
  readonly stock?: number
}

export type Order = {
  readonly id: number
  readonly buyer: string
  readonly lines: readonly {
    readonly product_id: number
    readonly quantity: number
    readonly price: string
  }[]
  readonly status: 'new' | 'paying' | 'paid' | 'expired'
  readonly total: string
  readonly metadata: Readonly<Record<string, string>>
  readonly created_at: string
  readonly updated_at: string
}

export type OrderCreate = {
  readonly buyer: string
  readonly lines: readonly {
    readonly product_id: number
    readonly quantity: number
    readonly price?: string
  }[]
  readonly metadata?: Readonly<Record<string, string>>
}

export type Receipt = {
  readonly id: number
  readonly order_id: number
  readonly text: string
  readonly created_at: string
}

/** For `createClient<Types>` of gatehook-client. */
export interface Types {
  readonly version: 'v1'
  readonly resources: {
    readonly sellers: {
      readonly row: Seller
      readonly create: SellerCreate
      readonly update: SellerPatch
      readonly deletes: true
      readonly filters: {
        readonly email: string
      }
      readonly prefixes: never
      readonly parts: never
      readonly sorts: 'name' | 'created_at'
      readonly searches: false
      readonly restores: false
      readonly relations: Record<never, never>
      readonly actions: Record<never, never>
    }
    readonly products: {
      readonly row: Product
      readonly create: ProductCreate
      readonly update: ProductPatch
      readonly deletes: true
      readonly filters: {
        readonly seller_id: number
        readonly price: string
        readonly stock: number
      }
      readonly prefixes: never
      readonly parts: never
      readonly sorts: 'price' | 'created_at'
      readonly searches: true
      readonly restores: false
      readonly relations: {
        readonly seller: {
          readonly resource: 'sellers'
          readonly nullable: false
        }
      }
      readonly actions: Record<never, never>
    }
    readonly orders: {
      readonly row: Order
      readonly create: OrderCreate
      readonly update: never
      readonly deletes: false
      readonly filters: {
        readonly buyer: string
        readonly status: 'new' | 'paying' | 'paid' | 'expired'
        readonly metadata: Readonly<Record<string, string>>
        readonly created_at: string
      }
      readonly prefixes: never
      readonly parts: never
      readonly sorts: 'created_at'
      readonly searches: false
      readonly restores: false
      readonly relations: {
        readonly 'lines.product': {
          readonly resource: 'products'
          readonly nullable: false
        }
      }
      readonly actions: Record<never, never>
    }
    readonly receipts: {
      readonly row: Receipt
      readonly create: never
      readonly update: never
      readonly deletes: false
      readonly filters: {
        readonly order_id: number
      }
      readonly prefixes: never
      readonly parts: never
      readonly sorts: 'created_at'
      readonly searches: false
      readonly restores: false
      readonly relations: {
        readonly order: {
          readonly resource: 'orders'
          readonly nullable: false
        }
      }
      readonly actions: Record<never, never>
    }
  }
  readonly routes: {
    readonly 'POST /orders/:id/payments': {
      readonly params: 'id'
      readonly query: Record<never, never>
      readonly input: {
        readonly source: string
      }
      readonly output: Order
    }
  }
  readonly events: {
    readonly 'seller.created': Seller
    readonly 'seller.updated': Seller
    readonly 'seller.deleted': Seller
    readonly 'product.created': ProductObject
    readonly 'product.updated': ProductObject
    readonly 'product.deleted': ProductObject
    readonly 'order.created': Order
    readonly 'order.paid': Order
    readonly 'order.expired': Order
    readonly 'stock.empty': {
      readonly product_id: number
    }
  }
  readonly failures: {
    readonly payment_declined: {
      readonly reason: string | null
    }
  }
}
