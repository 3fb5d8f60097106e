export { adminService } from './admin_service.ts';
