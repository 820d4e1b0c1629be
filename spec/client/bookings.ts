/** Types of Hotel v2. `gatehook client types` writes them. */

export type Room = {
  readonly id: number
  readonly number: string
  readonly beds: number
  readonly created_at: string
}

export type RoomCreate = {
  readonly number: string
  readonly beds: number
}

export type RoomPatch = {
  readonly number?: string
  readonly beds?: number
}

export type Rate = {
  readonly id: number
  readonly room_id: number
  readonly from_night: string
  readonly price: string
}

export type RateCreate = {
  readonly room_id: number
  readonly from_night: string
  readonly price: string
}

export type RatePatch = {
  readonly room_id?: number
  readonly from_night?: string
  readonly price?: string
}

export type Guest = {
  readonly id: number
  readonly full_name: string
  readonly email: string
  readonly metadata: Readonly<Record<string, string>>
  readonly created_at: string
}

export type GuestCreate = {
  readonly full_name: string
  readonly email: string
  readonly metadata?: Readonly<Record<string, string>>
}

export type GuestPatch = {
  readonly full_name?: string
  readonly email?: string
  readonly metadata?: Readonly<Record<string, string | null>>
}

export type Booking = {
  readonly id: string
  readonly room_id: number
  readonly guest_id: number
  readonly arrives: string
  readonly departs: string
  readonly status: 'booked' | 'arrived' | 'departed' | 'cancelled'
  readonly total: string
  readonly created_at: string
  readonly updated_at: string
}

export type BookingCreate = {
  readonly room_id: number
  readonly guest_id: number
  readonly arrives: string
  readonly departs: string
}

export type BookingPatch = {
  readonly room_id?: number
  readonly guest_id?: number
  readonly arrives?: string
  readonly departs?: string
}

/** For `createClient<Types>` of gatehook-client. */
export interface Types {
  readonly version: 'v2'
  readonly resources: {
    readonly rooms: {
      readonly row: Room
      readonly create: RoomCreate
      readonly update: RoomPatch
      readonly deletes: true
      readonly filters: {
        readonly number: string
        readonly beds: number
      }
      readonly prefixes: never
      readonly parts: never
      readonly sorts: 'number' | 'beds' | 'created_at'
      readonly searches: false
      readonly restores: false
      readonly relations: Record<never, never>
      readonly actions: Record<never, never>
    }
    readonly rates: {
      readonly row: Rate
      readonly create: RateCreate
      readonly update: RatePatch
      readonly deletes: true
      readonly filters: {
        readonly room_id: number
      }
      readonly prefixes: never
      readonly parts: never
      readonly sorts: 'from_night'
      readonly searches: false
      readonly restores: false
      readonly relations: {
        readonly room: {
          readonly resource: 'rooms'
          readonly nullable: false
        }
      }
      readonly actions: Record<never, never>
    }
    readonly guests: {
      readonly row: Guest
      readonly create: GuestCreate
      readonly update: GuestPatch
      readonly deletes: true
      readonly filters: {
        readonly full_name: string
        readonly email: string
        readonly metadata: Readonly<Record<string, string>>
      }
      readonly prefixes: never
      readonly parts: never
      readonly sorts: 'full_name' | 'created_at'
      readonly searches: false
      readonly restores: false
      readonly relations: Record<never, never>
      readonly actions: Record<never, never>
    }
    readonly bookings: {
      readonly row: Booking
      readonly create: BookingCreate
      readonly update: BookingPatch
      readonly deletes: false
      readonly filters: {
        readonly room_id: number
        readonly guest_id: number
        readonly arrives: string
        readonly departs: string
        readonly status: 'booked' | 'arrived' | 'departed' | 'cancelled'
      }
      readonly prefixes: never
      readonly parts: never
      readonly sorts: 'arrives' | 'created_at'
      readonly searches: false
      readonly restores: false
      readonly relations: {
        readonly room: {
          readonly resource: 'rooms'
          readonly nullable: false
        }
        readonly guest: {
          readonly resource: 'guests'
          readonly nullable: false
        }
      }
      readonly actions: {
        readonly arrive: Record<never, never>
        readonly depart: Record<never, never>
        readonly cancel: Record<never, never>
      }
    }
  }
  readonly routes: Record<never, never>
  readonly events: {
    readonly 'room.created': Room
    readonly 'room.updated': Room
    readonly 'room.deleted': Room
    readonly 'guest.created': Guest
    readonly 'guest.updated': Guest
    readonly 'guest.deleted': Guest
    readonly 'booking.created': Booking
    readonly 'booking.updated': Booking
    readonly 'booking.arrived': Booking
    readonly 'booking.departed': Booking
    readonly 'booking.cancelled': Booking
  }
  readonly failures: Record<never, never>
}
