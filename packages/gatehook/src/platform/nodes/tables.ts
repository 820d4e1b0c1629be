/** Tables of the nodes of an installation, and of the customers that each serves. */
import { int, type Table, text } from '../storage/table.ts'

const nodes: Table = {
  name: 'gh_nodes',
  row:
    'A node, see `registry.ts`: one that runs, ended or failed to start. JSON: `facts` are those ' +
    'of `operate/monitoring/`, `columns` the columns of resources that the node uses, `key_ids` ' +
    'its master secrets, `failure` why it did not start. `heartbeat` counts the heartbeats of ' +
    'its delivery engine; null: it holds no customer.',
  columns: {
    id: text.plain,
    name: text.plain,
    slot: int,
    facts: text.plain,
    columns: text.plain,
    key_ids: text.plain,
    seen_at: int,
    heartbeat: int.orNull,
    ended_at: int.orNull,
    failure: text.plain.orNull,
  },
  key: ['id'],
  place: 'local',
  belongs: 'installation',
  stays: 'until a node of its name starts after its end, or a day after its last report',
  staysBehind: true,
  ofOwner: true,
}

const deliveryLeases: Table = {
  name: 'gh_delivery_leases',
  row: 'The node that serves a customer.',
  columns: {
    customer_no: int,
    node: text.plain,
  },
  key: ['customer_no'],
  place: 'local',
  belongs: { customerNo: 'customer_no' },
  indexes: {
    node: { on: 'node', serves: 'the customers of a node' },
  },
  stays: 'until the node ends',
  staysBehind: true,
  ofOwner: true,
}

export const nodesTables: readonly Table[] = [nodes, deliveryLeases]
