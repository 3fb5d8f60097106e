export { bootstrapNodeService, registryService } from './registry_service.ts';
