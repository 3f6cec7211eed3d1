// It opens the device, allocates a protection domain and registers memory.
use std::os::raw::{c_int, c_uint, c_void};

#[link(name = "ibverbs")]
extern "C" {
    fn ibv_get_device_list(n: *mut c_int) -> *mut *mut c_void;
    fn ibv_open_device(device: *mut c_void) -> *mut c_void;
    fn ibv_alloc_pd(context: *mut c_void) -> *mut c_void;
    fn ibv_reg_mr_iova2(pd: *mut c_void, addr: *mut c_void, len: usize, iova: u64, access: c_uint) -> *mut c_void;
    fn ibv_dereg_mr(mr: *mut c_void) -> c_int;
    fn ibv_dealloc_pd(pd: *mut c_void) -> c_int;
    fn ibv_close_device(context: *mut c_void) -> c_int;
}

fn main() {
    let mut buf = vec![0u8; 1 << 16];
    unsafe {
        let mut n = 0;
        let list = ibv_get_device_list(&mut n);
        assert!(!list.is_null() && n == 1);
        let context = ibv_open_device(*list);
        assert!(!context.is_null());
        let pd = ibv_alloc_pd(context);
        let mr = ibv_reg_mr_iova2(pd, buf.as_mut_ptr().cast(), buf.len(), buf.as_ptr() as u64, 1);
        assert!(!pd.is_null() && !mr.is_null());
        assert_eq!((ibv_dereg_mr(mr), ibv_dealloc_pd(pd), ibv_close_device(context)), (0, 0, 0));
    }
    println!("memory was registered");
}
