/** People who can own orders. */
import { f, resource } from 'gatehook'

export const users = resource('users', {
  fields: {
    id: f.id(),
    name: f.string().min(1).max(200).personal(),
    email: f.email().unique().personal(),
    created_at: f.createdAt(),
  },
  list: {
    filter: ['id', 'name', 'email', 'created_at'],
    sort: ['id', 'name', 'email', 'created_at'],
  },
  access: {
    read: 'users:read',
    create: 'users:write',
    update: 'users:write',
    delete: 'users:write',
  },
  events: ['user.created', 'user.updated', 'user.deleted'],
})
  .links((user) => ({ self: `/users/${user.id}`, orders: `/orders?user_id=${user.id}` }))
  .sample((n) => {
    const name = `${first[n % first.length]} ${last[Math.floor(n / first.length) % last.length]}`
    return { name, email: `${name.toLowerCase().replace(' ', '.')}.${n}@example.com` }
  })
  .signsIn({ username: 'email', signUp: { fields: ['name'] } })

const first = ['Ada', 'Grace', 'Alan', 'Edsger', 'Barbara', 'Donald', 'Radia', 'Ken', 'Frances']
const last = ['Okafor', 'Lindqvist', 'Tanaka', 'Moreau', 'Silva', 'Novak', 'Haddad']
