export { ZooKeeperDoor } from './zookeeper_door.ts';
